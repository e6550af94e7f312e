import { changePoints, MIN_STRETCH } from "../stats/e-divisive.ts";
import { median } from "../stats/order-statistics.ts";
import { fitRamp } from "../stats/ramp.ts";

/** A change of level. A step is between neighbours; a creep takes the points between two levels. */
export interface Change {
  readonly kind: "step" | "creep";
  /** Index of the last value of the level before. */
  readonly from: number;
  /** Index of the first value of the level after. */
  readonly at: number;
  /** Medians of the two levels. */
  readonly before: number;
  readonly after: number;
}

/** Values on either side of a change that decide whether it is a step. */
const MAX_CONTEXT = 50;
/** Difference of the information criteria that is strong evidence (Kass and Raftery, 1995). */
const STRONG = 6;
/** Residuals of this share of the smallest change are as good as none. */
const RESIDUAL_SHARE = 0.25;

type Bounds = Pick<Change, "kind" | "from" | "at">;

function squaresAround(values: Float64Array): number {
  const centre = values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.reduce((sum, value) => sum + (value - centre) ** 2, 0);
}

/** The line that explains neighbouring change points much better than steps do, by Schwarz's criterion; null = none. */
function creepThrough(values: Float64Array, points: readonly number[], low: number, high: number, least: number) {
  const edges = [Math.max(low, points[0]! - MAX_CONTEXT), ...points, Math.min(high, points.at(-1)! + MAX_CONTEXT)];
  const stretch = values.subarray(edges[0], edges.at(-1));
  const line = fitRamp(stretch, MIN_STRETCH);
  if (line === null || line.to - line.from === 1) return null;
  const n = stretch.length;
  const criterion = (squares: number, parameters: number) =>
    n * Math.log(Math.max(squares / n, (RESIDUAL_SHARE * least) ** 2)) + parameters * Math.log(n);
  const steps = edges.slice(1).reduce((sum, edge, i) => sum + squaresAround(values.subarray(edges[i], edge)), 0);
  const gain = criterion(steps, 2 * points.length + 1) - criterion(line.squares, 4);
  return gain > STRONG ? { from: edges[0]! + line.from, at: edges[0]! + line.to } : null;
}

/** The changes between bounds with the medians of the levels around them. */
function withLevels(values: Float64Array, bounds: readonly Bounds[]): readonly Change[] {
  const levels = [...bounds.keys(), bounds.length].map((i) =>
    median(values.subarray(bounds[i - 1]?.at ?? 0, (bounds[i]?.from ?? values.length - 1) + 1)),
  );
  return bounds.map((one, i) => ({ ...one, before: levels[i]!, after: levels[i + 1]! }));
}

/** Change points that follow each other in one direction as one creep where they are one, the others as steps. */
function bounded(values: Float64Array, least: (level: number) => number): readonly Bounds[] {
  const points = changePoints(values);
  const steps = points.map((at): Bounds => ({ kind: "step", from: at - 1, at }));
  const rises = withLevels(values, steps).map(({ before, after }) => after > before);
  const found: Bounds[] = [];
  for (let first = 0; first < points.length; ) {
    let end = first + 1;
    while (end < points.length && rises[end] === rises[first]) end += 1;
    let line: ReturnType<typeof creepThrough> = null;
    for (; end > first && line === null; end -= 1) {
      const [low, high] = [points[first - 1] ?? 0, points[end] ?? values.length];
      line = creepThrough(values, points.slice(first, end), low, high, least(values[low]!));
    }
    found.push(line === null ? steps[first]! : { kind: "creep", ...line });
    first = end + 1;
  }
  return found;
}

/**
 * The changes of a series, oldest first. Changes below the smallest one are left out, the smallest first.
 * @param least the smallest change, given the level before it
 */
export function changesOf(values: Float64Array, least: (level: number) => number): readonly Change[] {
  let changes = withLevels(values, bounded(values, least));
  for (;;) {
    const shares = changes.map(({ before, after }) => Math.abs(after - before) / least(before));
    const smallest = Math.min(...shares);
    if (!(smallest < 1)) return changes;
    const rest = changes.filter((_, i) => i !== shares.indexOf(smallest));
    changes = withLevels(values, rest);
  }
}
