import { usageError } from "../core/errors.ts";
import type { CatalogueEntry } from "./catalogue.ts";

/** The lab's scales: steps of a run. A test compares them with the patterns'. */
export const LAB_STEPS = { tiny: 160, small: 320, article: 390 } as const;
export type LabScale = keyof typeof LAB_STEPS;

/** What a search keeps constant while it varies the steps of a run. */
export interface ScaleSetting {
  readonly scale: LabScale;
  /** Images in a batch; null = the scale's. */
  readonly batch: number | null;
}

/** Default bounds: up to 64 times the scale's length. */
export function usualBounds({ scale }: ScaleSetting): { readonly from: number; readonly to: number } {
  return { from: 4, to: 64 * LAB_STEPS[scale] };
}

/** Refuse a setting that cannot be kept constant. @throws GateError OPTION_INVALID (usage) */
export function checkSetting({ name, framework }: CatalogueEntry, { batch }: ScaleSetting): void {
  if (batch !== null && (framework === "python" || framework === "node"))
    throw usageError("OPTION_INVALID", `${name} is a service and has no --batch`);
}
