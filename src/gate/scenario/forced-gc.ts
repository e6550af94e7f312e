import type { MeasuredSeries } from "../../analysis/measurements.ts";
import type { GateRequest, ScenarioRequest } from "../../config/gate-request.ts";
import { type Command, namesNode } from "../../core/process/command.ts";
import { usesPermissions } from "../../measure/environment/probe-environment.ts";
import { isCounted, METRIC, type Metric } from "../../telemetry/recording/metrics.ts";
import type { Judgement } from "../../verdict/model/judgement.ts";
import { hasHeap } from "../../verdict/rules/garbage-rule.ts";

// V8 and Java virtual machines let their heaps grow before they collect, so the host memory of a program of some
// seconds grows whether or not it leaks. Where nothing else is against a change, it is measured again in a run in which
// the heaps are collected all the time.

/** The environment in which Node programs collect, and record what is left; null where they could not start in it. */
export function collectingEnvironment(
  { env }: Pick<GateRequest, "env">,
  { env: own, command, cwd }: Pick<ScenarioRequest, "env" | "command" | "cwd">,
): Readonly<Record<string, string>> | null {
  const options = own.NODE_OPTIONS ?? env.NODE_OPTIONS ?? "";
  return usesPermissions({ command, cwd }, options) ? null : { STORMLOG_GATE_COLLECT: "1" };
}

/**
 * The environment in which a program without a probe or a collected heap has the counters of its C heap: they tell
 * growth that the allocator keeps from growth in use. Empty where they were read already.
 */
export function countingEnvironment(
  series: readonly MeasuredSeries[],
  command: Command,
): Readonly<Record<string, string>> {
  const isCounted = series.some(({ metric, device }) => metric === "allocated" && device === "host");
  return isCounted || hasHeap(series) || namesNode(command) ? {} : { STORMLOG_GATE_HEAP: "preload" };
}

/** A shorter run has no time for the readings that a curve needs, seconds. */
const MIN_DURATION_S = 2;

/**
 * Whether host memory that moves without a baseline is all there is against a change, and what the heap holds is not
 * known. Of a program that is not known to have a collected heap, it has to be a leak, which is measured again anyway.
 */
export function growthMayBeUncollected(
  { checks }: Pick<Judgement, "checks">,
  { series, durationS }: { readonly series: readonly MeasuredSeries[]; readonly durationS: number | null },
  command: Command,
): boolean {
  if (durationS === null || durationS < MIN_DURATION_S) return false;
  if (series.some(({ metric, class: drift }) => metric === "jvm_heap" && drift !== "unavailable")) return false;
  // The collecting run confirms what is counted or left behind as well as any other.
  const isConfirmedBeside = (metric: Metric): boolean => isCounted(metric) || METRIC[metric].isLeftBehind;
  const fails = checks.filter(
    ({ gating, verdict, metric }) => gating && verdict === "fail" && !isConfirmedBeside(metric),
  );
  // A heap that V8 collects by itself has few readings, which a cache that fills is enough for.
  const alone = fails.every(
    ({ kind, metric, confirmed }) => kind === "class" && (metric === "host" || metric === "js_heap") && !confirmed,
  );
  if (!alone) return false;
  if (fails.length > 0) return true;
  return (
    (namesNode(command) || hasHeap(series)) &&
    series.some(({ metric, class: drift }) => metric === "host" && moved(drift))
  );
}

/** A heap grows in jumps: a leak looks like steps or a plateau too. */
const moved = (drift: MeasuredSeries["class"]): boolean =>
  drift === "leak" || drift === "rising" || drift === "plateau" || drift === "step";
