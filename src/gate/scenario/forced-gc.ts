import path from "node:path";
import type { MeasuredSeries } from "../../analysis/measurements.ts";
import type { GateRequest, ScenarioRequest } from "../../config/gate-request.ts";
import { probeDirectory, withPreload } from "../../core/probe-directory.ts";
import { type Command, commandLine, namesNode } from "../../core/process/command.ts";
import { METRIC } from "../../telemetry/recording/metrics.ts";
import type { Judgement } from "../../verdict/model/judgement.ts";

// V8 and Java virtual machines let their heaps grow before they collect, so the host memory of a program of some
// seconds grows whether or not it leaks. Where nothing else is against a change, it is measured again in a run in which
// the heaps are collected all the time.

/** Under Node's permission model a file that the program may not read would end it. */
const PERMISSIONS = /--(?:experimental-)?permission\b/;

/** The environment in which Node programs collect, and record what is left; null where they could not start in it. */
export function collectingEnvironment(
  { env }: Pick<GateRequest, "env">,
  { env: own, command }: Pick<ScenarioRequest, "env" | "command">,
): Readonly<Record<string, string>> | null {
  const options = own.NODE_OPTIONS ?? env.NODE_OPTIONS;
  if (PERMISSIONS.test(`${options ?? ""} ${commandLine(command)}`)) return null;
  return { NODE_OPTIONS: withPreload(options, path.join(probeDirectory(), "node", "collections.cjs")) };
}

/** A shorter run has no time for the readings that a curve needs, seconds. */
const MIN_DURATION_S = 2;

/** Whether a collected heap was seen in a run, whether or not what it holds is known. */
export const hasHeap = (series: readonly MeasuredSeries[]): boolean =>
  series.some(({ metric }) => METRIC[metric].isLiveHeap);

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
  if (series.some((one) => METRIC[one.metric].isLiveHeap && one.class !== "unavailable")) return false;
  const fails = checks.filter(({ gating, verdict }) => gating && verdict === "fail");
  const alone = fails.every(({ kind, metric, confirmed }) => kind === "class" && metric === "host" && !confirmed);
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
