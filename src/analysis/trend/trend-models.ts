import { fitLine } from "../../stats/least-squares.ts";
import { fitLevelShift } from "./level-shift.ts";
import { AFTER_END, deviationsOf, ENDED_REST, fitEnded } from "./segments.ts";

/**
 * Models of a trend, fitted by least squares and compared by the Bayesian information criterion (Schwarz 1978,
 * "Estimating the dimension of a model"). The better model distinguishes a leak from a jump. The size of single rises
 * does not, because noise inflates it.
 */
export const TREND_MODELS = [
  "flat",
  "line",
  "late-ramp",
  "saturating",
  "one-step",
  "two-steps",
  "line-and-step",
  "staircase",
  "ended",
] as const;
export type TrendModel = (typeof TREND_MODELS)[number];

export interface TrendFit {
  readonly model: TrendModel;
  readonly sse: number;
  readonly bic: number;
  /** Share of the points after the end of the growth, or before its begin (`late-ramp`); 0 where neither exists. */
  readonly flatShare: number;
  /** Whether a model of growth that ended cannot be a leak of which a rest was observed by chance. */
  readonly certain: boolean;
}

/** Free parameters, break positions included. */
const PARAMETERS: Readonly<Record<Exclude<TrendModel, "ended">, number>> = {
  flat: 1,
  line: 2,
  "late-ramp": 3,
  saturating: 3,
  "one-step": 3,
  "two-steps": 5,
  "line-and-step": 4,
  // Two for each of at least four steps, and the first level; the fit adds two for each further step.
  staircase: 9,
};
type Counted = Exclude<TrendModel, "staircase" | "ended">;

/** A staircase has at least this many steps, all upwards: fewer may be caches that fill one after the other. */
const MIN_STAIRS = 4;
const MAX_STAIRS = 7;
const MAX_SHARE_OF_TWO = 0.8;
/** Flexible models must beat the simpler ones by this difference of the criterion ("very strong" evidence). */
const FLEXIBLE_MARGIN = 10;
export const FLEXIBLE: ReadonlySet<TrendModel> = new Set<TrendModel>(["line-and-step", "staircase", "ended"]);

interface Staircase {
  readonly sse: number;
  readonly steps: number;
}

/** For each number of steps the best piecewise constant fit (dynamic programming), if every step goes up. */
function staircases(y: Float64Array, spread: (from: number, to: number) => number): Staircase[] {
  const n = y.length;
  const found: Staircase[] = [];
  // cost[c] = least SSE of y[0..c) in the current number of pieces; last[k][c] = begin of its last piece.
  let cost = Float64Array.from({ length: n + 1 }, (_, c) => (c === 0 ? Number.POSITIVE_INFINITY : spread(0, c)));
  const last: Uint32Array[] = [new Uint32Array(n + 1)];
  for (let steps = 1; steps <= Math.min(MAX_STAIRS, n - 1); steps++) {
    const next = new Float64Array(n + 1).fill(Number.POSITIVE_INFINITY);
    const begin = new Uint32Array(n + 1);
    for (let c = steps + 1; c <= n; c++) {
      for (let d = steps; d < c; d++) {
        const total = cost[d]! + spread(d, c);
        if (total < next[c]!) {
          next[c] = total;
          begin[c] = d;
        }
      }
    }
    cost = next;
    last.push(begin);
    if (steps >= MIN_STAIRS && isStaircase(y, last, steps)) found.push({ sse: cost[n]!, steps });
  }
  return found;
}

/** Whether every step goes up, the last rest is short, and no two steps are nearly all of the rise. */
function isStaircase(y: Float64Array, last: readonly Uint32Array[], steps: number): boolean {
  const rises: number[] = [];
  const begins: number[] = [];
  let levels = 0;
  let above = Number.NaN;
  for (let k = steps, to = y.length; k >= 0; k--) {
    const from = last[k]![to]!;
    let sum = 0;
    for (let i = from; i < to; i++) sum += y[i]!;
    const level = sum / (to - from);
    if (k < steps) rises.push(above - level);
    above = level;
    levels += Number(to - from > 1);
    to = from;
    begins.push(from);
  }
  // A level of one point is a part of a ramp.
  if (levels < MIN_STAIRS) return false;
  const total = rises.reduce((sum, rise) => sum + rise, 0);
  let end = 0;
  for (let after = rises[0]!; after <= AFTER_END * total && end < steps - 1; after += rises[end]!) end++;
  if (y.length - begins[end]! >= ENDED_REST * y.length) return false;
  rises.sort((a, b) => b - a);
  return rises[rises.length - 1]! > 0 && rises[0]! + rises[1]! <= MAX_SHARE_OF_TWO * total;
}

/** SSE of a line in a function of the index. */
function regress(y: Float64Array, at: (i: number) => number): number {
  return fitLine(
    Float64Array.from(y, (_, i) => at(i)),
    y,
  ).sse;
}

/** Minimum share of the steady part in a steady rise with a jump on top. */
const MIN_STEADY_SHARE = 0.4;

/** Least SSE of one slope with one upward jump. Infinite when the slope is too small a part of the rise. */
const lineAndStep = (y: Float64Array): number =>
  fitLevelShift(y, 2, ({ bytes, rise }) => bytes > 0 && rise > 0 && rise >= MIN_STEADY_SHARE * (rise + bytes))?.sse ??
  Number.POSITIVE_INFINITY;

/**
 * Fits every model to equally spaced points, best first.
 * @param noise smallest standard deviation to assume, in the unit of y
 */
export function fitTrendModels(y: Float64Array, noise: number): TrendFit[] {
  const n = y.length;
  const deviations = deviationsOf(y);
  const spread = deviations.level;
  const sse: Record<Counted, number> = {
    flat: spread(0, n),
    line: regress(y, (i) => i),
    "late-ramp": Number.POSITIVE_INFINITY,
    saturating: Number.POSITIVE_INFINITY,
    "one-step": Number.POSITIVE_INFINITY,
    "two-steps": Number.POSITIVE_INFINITY,
    "line-and-step": lineAndStep(y),
  };
  for (let c = 1; c < n; c++) sse["one-step"] = Math.min(sse["one-step"], spread(0, c) + spread(c, n));
  for (let c = 1; c < n - 1; c++) {
    for (let d = c + 1; d < n; d++) {
      sse["two-steps"] = Math.min(sse["two-steps"], spread(0, c) + spread(c, d) + spread(d, n));
    }
  }
  // A ramp of fewer than three points can be a step within one block.
  const flat: Partial<Record<TrendModel, number>> = {};
  for (let c = 2; c <= n - 4; c++) {
    for (const [model, fitted] of [
      ["late-ramp", regress(y, (i) => Math.max(0, i - c))],
      ["saturating", regress(y, (i) => Math.min(i, n - 1 - c))],
    ] as const) {
      if (fitted >= sse[model]) continue;
      sse[model] = fitted;
      flat[model] = c / (n - 1);
    }
  }
  const criterion = (squares: number, parameters: number, model: TrendModel) =>
    n * Math.log(squares / n + noise * noise) + parameters * Math.log(n) + (FLEXIBLE.has(model) ? FLEXIBLE_MARGIN : 0);
  const stairs = staircases(y, spread).map(({ sse: squares, steps }): TrendFit => {
    const parameters = PARAMETERS.staircase + 2 * (steps - MIN_STAIRS);
    const bic = criterion(squares, parameters, "staircase");
    return { model: "staircase", sse: squares, bic, flatShare: 0, certain: false };
  });
  const ended = fitEnded(y, deviations).map(({ sse: squares, parameters, fewJumps, ...rest }): TrendFit => {
    const bic = criterion(squares, parameters, fewJumps ? "two-steps" : "ended");
    return { model: "ended", sse: squares, bic, ...rest };
  });
  const others = (Object.keys(sse) as Counted[]).map(
    (model): TrendFit => ({
      model,
      sse: sse[model],
      bic: criterion(sse[model], PARAMETERS[model], model),
      flatShare: flat[model] ?? 0,
      certain: model === "one-step" || model === "two-steps",
    }),
  );
  return [...others, ...stairs, ...ended].sort((a, b) => a.bic - b.bic);
}
