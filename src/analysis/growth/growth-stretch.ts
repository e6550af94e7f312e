import { fitHinge } from "../../stats/least-squares.ts";
import { median } from "../../stats/order-statistics.ts";
import { orderSeries } from "../series/ordered.ts";
import type { MetricSeries } from "../series/series.ts";
import { mergeBins, sliceBins, toBins } from "../trend/bins.ts";
import { materialChange } from "../trend/materiality.ts";
import { teardownStart } from "../trend/teardown.ts";
import { startupEnd } from "./series-analysis.ts";

/** Steps, or seconds since the recording's zero. */
type StretchUnit = "steps" | "seconds";

/** The part of a series in which its retained memory rose: what a source line has to explain. */
export type GrowthStretch =
  | {
      readonly kind: "growth";
      readonly unit: StretchUnit;
      /** First and last position of the series, and the onset of the growth between them. */
      readonly start: number;
      readonly onset: number;
      readonly end: number;
      /** Growth from onset to end. */
      readonly bytes: number;
    }
  | {
      readonly kind: "jump";
      readonly unit: StretchUnit;
      readonly start: number;
      /** The last position before the jump and the first after it. */
      readonly before: number;
      readonly after: number;
      readonly end: number;
      readonly bytes: number;
    };

const MAX_POINTS = 96;
const MIN_POINTS = 12;
/** Retained memory that rises by this share of the whole within two points rose once. */
const JUMP_SHARE = 0.6;
/** Points on each side of a jump whose levels are compared. */
const JUMP_SIDE = 4;
/** A jump within this share of the beginning belongs to the start of the program. */
const STARTING_SHARE = 0.1;
/** Shares of the beginning that are left out as a warm-up, until the rest is flat and then rises. */
const WARM_UPS = [0, 0.05, 0.1, 0.2, 0.3] as const;
const GOOD_FIT = 0.9;
/** Points after the onset without which nothing shows growth. */
const MIN_RISING = 3;

interface StretchLevels {
  readonly x: Float64Array;
  /** Memory that is never below this again: the minimum of what follows. */
  readonly held: Float64Array;
  readonly middle: Float64Array;
}

/** Where the retained memory of a series begins to grow, or jumps; null when it does not end higher than it began. */
export function growthStretch(series: MetricSeries): GrowthStretch | null {
  const ordered = orderSeries(series);
  if (ordered.axis === "index") return null;
  const all = toBins(ordered);
  if (all.count < MIN_POINTS) return null;
  const level = median(all.middle);
  const change = materialChange(level, series);
  const running = sliceBins(all, 0, teardownStart(all, change));
  const bins = mergeBins(running, Math.ceil(running.count / MAX_POINTS));
  const onTime = ordered.axis === "time";
  const startup = startupEnd(series.device, ordered, all, level);
  const first = startup === null ? 0 : bins.x.findIndex((x) => x >= startup);
  if (first < 0 || bins.count - first < MIN_POINTS) return null;
  const held = bins.low.slice(first);
  for (let i = held.length - 2; i >= 0; i--) held[i] = Math.min(held[i] ?? 0, held[i + 1] ?? 0);
  const scale = onTime ? 1e9 : 1;
  const x = bins.x.slice(first).map((at) => at / scale);
  const curve: StretchLevels = { x, held, middle: bins.middle.subarray(first) };
  const unit = onTime ? ("seconds" as const) : ("steps" as const);
  if (!((held.at(-1) ?? 0) > (held[0] ?? 0))) return null;
  const span = { unit, start: x[0] ?? 0, end: x.at(-1) ?? 0 };
  const jump = jumpOf(curve);
  if (jump !== null) return { kind: "jump", ...span, ...jump };
  const rise = riseOf(curve);
  if (rise === null) return null;
  const [least = 0, most = 0] = [held[0], held.at(-1)];
  return { kind: "growth", ...span, ...rise, bytes: Math.min(rise.bytes, most - least) };
}

function jumpOf({ x, held, middle }: StretchLevels): { before: number; after: number; bytes: number } | null {
  const n = x.length;
  const from = Math.max(JUMP_SIDE, Math.ceil(STARTING_SHARE * n));
  const total = (held[n - 1] ?? 0) - (held[from - 1] ?? 0);
  let at = -1;
  let bytes = 0;
  for (let i = from; i < n - 1; i++) {
    const rise = (held[i + 1] ?? 0) - (held[i - 1] ?? 0);
    if (rise > bytes) {
      bytes = rise;
      at = i;
    }
  }
  if (at < 0 || bytes < JUMP_SHARE * total) return null;
  // Below a saw-tooth the retained memory rises at once where a trough is passed; the level does not.
  const before = median(middle.slice(Math.max(0, at - JUMP_SIDE), at));
  const after = median(middle.slice(at + 1, at + 1 + JUMP_SIDE));
  if (after - before < JUMP_SHARE * bytes) return null;
  return { before: x[at - 1] ?? 0, after: x[at + 1] ?? 0, bytes };
}

/** A level up to an onset, and a constant slope from there on. */
export interface Hinge {
  readonly onset: number;
  /** Growth from the onset to the end. */
  readonly bytes: number;
  /** Share of the variation that the fit explains. */
  readonly explained: number;
}

/** The best fit of memory that is flat up to a point and rises from there on; null when none rises. */
export function risingHinge(x: Float64Array, y: Float64Array): Hinge | null {
  const fit = fitHinge(x, y, 0, x.length - 1 - MIN_RISING);
  if (fit === null) return null;
  const onset = x[fit.onset] ?? 0;
  return { onset, bytes: fit.slope * ((x.at(-1) ?? 0) - onset), explained: fit.explained };
}

function riseOf({ x, held }: StretchLevels): Pick<Hinge, "onset" | "bytes"> | null {
  let best: Hinge | null = null;
  for (const share of WARM_UPS) {
    const from = Math.floor(share * x.length);
    const fit = risingHinge(x.subarray(from), held.subarray(from));
    if (fit !== null && fit.explained >= GOOD_FIT) return fit;
    if (fit !== null && (best === null || fit.explained > best.explained)) best = fit;
  }
  return best;
}
