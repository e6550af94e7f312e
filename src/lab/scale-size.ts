import { usageError } from "../core/errors.ts";
import type { CatalogueEntry } from "./catalogue.ts";
import type { ScaleAxis } from "./report/scale-document.ts";

/** The lab's scales: images in a batch, steps of a run, images of an epoch. A test compares them with the patterns'. */
export const LAB_SCALES = {
  tiny: { batch: 32, steps: 160, rows: 1024 },
  small: { batch: 64, steps: 320, rows: 4096 },
  article: { batch: 128, steps: 390, rows: 10_000 },
} as const;
export type LabScale = keyof typeof LAB_SCALES;

/** What a search varies, and what it keeps constant; null = the scale's value. */
export interface ScaleSetting {
  readonly by: ScaleAxis;
  readonly scale: LabScale;
  readonly steps: number | null;
  readonly batch: number | null;
}

/** Steps and batch of one run; a batch of null is the scale's own. */
export interface RunSize {
  readonly steps: number;
  readonly batch: number | null;
}

/** Steps of one epoch: incomplete batches are left out, and there are images for at least one batch. */
function epochSteps({ scale, batch }: ScaleSetting): number {
  const sizes = LAB_SCALES[scale];
  const images = batch ?? sizes.batch;
  return Math.floor(Math.max(sizes.rows, images) / images);
}

/** The run of a size. */
export function runSize(setting: ScaleSetting, value: number): RunSize {
  const { by, batch } = setting;
  if (by === "batch") return { steps: setting.steps ?? LAB_SCALES[setting.scale].steps, batch: value };
  return { steps: by === "epochs" ? value * epochSteps(setting) : value, batch };
}

/** The lab scale's own size on this axis: a run of seconds at the smallest scale. */
export function usualSize(setting: ScaleSetting): number {
  const sizes = LAB_SCALES[setting.scale];
  return setting.by === "epochs" ? Math.max(1, Math.round(sizes.steps / epochSteps(setting))) : sizes[setting.by];
}

/** Default bounds: up to 64 times the scale's length, or 16 times its batch. */
export function usualBounds(setting: ScaleSetting): { readonly from: number; readonly to: number } {
  const usual = usualSize(setting);
  if (setting.by === "batch") return { from: 1, to: 16 * usual };
  return { from: setting.by === "steps" ? 4 : 1, to: 64 * usual };
}

/** Refuse a setting that cannot be varied or kept constant. @throws GateError OPTION_INVALID (usage) */
export function checkSetting({ name, framework }: CatalogueEntry, { by, steps, batch }: ScaleSetting): void {
  const service = framework === "python" || framework === "node";
  if (service && by !== "steps")
    throw usageError("OPTION_INVALID", `${name} is a service and has no ${by}`, "Search by steps.");
  if (service && batch !== null) throw usageError("OPTION_INVALID", `${name} is a service and has no --batch`);
  if (by === "batch" && batch !== null)
    throw usageError(
      "OPTION_INVALID",
      "--batch cannot be combined with --by batch, which varies it",
      "Bound it with --from and --to.",
    );
  if (by !== "batch" && steps !== null)
    throw usageError(
      "OPTION_INVALID",
      `--steps cannot be combined with --by ${by}, which varies it`,
      "Bound it with --from and --to.",
    );
}
