import { usageError } from "../../core/errors.ts";
import type { ScaleAxis } from "../../lab/report/scale-document.ts";
import type { LabScale } from "../../lab/scale-size.ts";
import { DEFAULT_POLICY } from "../../verdict/model/defaults.ts";

/** Default directory of a round. */
export const LAB_DIRECTORY = "stormlog-lab";
/** Directory of searches by default; each pattern has its own below it. */
export const SCALE_DIRECTORY = "stormlog-lab-scale";
/** What a search varies. */
export const AXES = ["steps", "batch", "epochs"] as const satisfies readonly ScaleAxis[];
export const SCALES = ["tiny", "small", "article"] as const satisfies readonly LabScale[];
export const DEVICES = ["auto", "cpu", "cuda", "mps", "xpu"];

/** A whole number from 1 on. @throws GateError OPTION_INVALID (usage) */
export function whole(name: string, text: string, most: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > most)
    throw usageError("OPTION_INVALID", `--${name} "${text}" is not a whole number from 1 to ${most}`);
  return value;
}

/** Runs of the fixed state for a baseline. @throws GateError OPTION_INVALID (usage) for fewer than a verdict needs */
export function baselineRuns(text: string | undefined): number {
  const least = DEFAULT_POLICY.minBaselineRuns;
  const runs = text === undefined ? least : whole("runs", text, 100);
  if (runs < least) throw usageError("OPTION_INVALID", `--runs ${runs}: a verdict needs at least ${least} fixed runs`);
  return runs;
}
