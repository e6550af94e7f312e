import type { Cells } from "./cells.ts";
import { mean, median, medianInPlace } from "./order-statistics.ts";

/** Which value of each block stands for the level: its middle, or its lowest where something cycles on top. */
export type FloorKind = "middle" | "low";

/** Points of the floor, for fits. */
export interface Floor {
  readonly kind: FloorKind;
  readonly x: Float64Array;
  readonly y: Float64Array;
}

/** Equal parts of a series, one point each: median of the middles, or minimum of the lows. */
export function partition(cells: Cells, kind: FloorKind, parts: number): Floor {
  const x = new Float64Array(parts);
  const y = new Float64Array(parts);
  for (let k = 0; k < parts; k++) {
    const from = Math.floor((k * cells.count) / parts);
    const to = Math.floor(((k + 1) * cells.count) / parts);
    x[k] = cells.x[from]! + mean(cells.x.subarray(from, to).map((at) => at - cells.x[from]!));
    y[k] = kind === "middle" ? median(cells.middle.subarray(from, to)) : Math.min(...cells.low.subarray(from, to));
  }
  return { kind, x, y };
}

/** Roughness that no straight line or single jump can explain: median absolute second difference. */
export function roughness(y: Float64Array): number {
  if (y.length < 3) return 0;
  const second = new Float64Array(y.length - 2);
  for (let i = 1; i < y.length - 1; i++) second[i - 1] = Math.abs(y[i - 1]! - 2 * y[i]! + y[i + 1]!);
  return medianInPlace(second);
}

/** The lows must be this much quieter than the middles to be preferred: on plain noise they never are. */
const QUIETER = 0.5;

/**
 * Middle or low: a saw-tooth whose period the autocorrelation cannot pin down (irregular, aliased, too few teeth) still
 * shows a floor that is much quieter than its middle.
 * @param noise smallest roughness worth a choice, bytes
 */
export function chooseFloor(cells: Cells, parts: number, periodic: boolean, noise: number): FloorKind {
  if (periodic) return "low";
  const middle = roughness(partition(cells, "middle", parts).y);
  if (middle <= noise) return "middle";
  return roughness(partition(cells, "low", parts).y) < QUIETER * middle ? "low" : "middle";
}
