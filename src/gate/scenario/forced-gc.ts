import path from "node:path";
import type { MeasuredSeries } from "../../analysis/measurements.ts";
import type { GateRequest, ScenarioRequest } from "../../config/gate-request.ts";
import { probeDirectory, withPreload } from "../../core/probe-directory.ts";
import { type Command, commandLine, namesNode } from "../../core/process/command.ts";
import type { Judgement } from "../../verdict/model/judgement.ts";

// V8 lets its heap grow before it collects, so the host memory of a Node program of some seconds grows whether or not
// it leaks. Where nothing else is against a change, it is measured again in a run in which V8 collects all the time.

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

/**
 * Whether host memory that moves without a baseline is all there is against a change. Of a program that is not known to
 * be Node's, it has to be a leak, which is measured again anyway.
 */
export function growthMayBeUncollected(
  { checks }: Pick<Judgement, "checks">,
  { series, durationS }: { readonly series: readonly MeasuredSeries[]; readonly durationS: number | null },
  command: Command,
): boolean {
  if (durationS === null || durationS < MIN_DURATION_S) return false;
  const fails = checks.filter(({ gating, verdict }) => gating && verdict === "fail");
  const alone = fails.every(({ kind, metric, confirmed }) => kind === "class" && metric === "host" && !confirmed);
  if (!alone) return false;
  if (fails.length > 0) return true;
  return namesNode(command) && series.some(({ metric, class: drift }) => metric === "host" && moved(drift));
}

/** V8 grows in jumps: a leak looks like steps or a plateau too. */
const moved = (drift: MeasuredSeries["class"]): boolean =>
  drift === "leak" || drift === "rising" || drift === "plateau" || drift === "step";
