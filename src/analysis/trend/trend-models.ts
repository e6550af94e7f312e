import { fitLine } from "../../stats/least-squares.ts";

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
] as const;
export type TrendModel = (typeof TREND_MODELS)[number];

export interface TrendFit {
  readonly model: TrendModel;
  readonly sse: number;
  readonly bic: number;
  /** Share of the points after the end of the ramp (`saturating`) or before its begin (`late-ramp`), else 0. */
  readonly flatShare: number;
}

/** Free parameters, break positions included. */
const PARAMETERS: Readonly<Record<TrendModel, number>> = {
  flat: 1,
  line: 2,
  "late-ramp": 3,
  saturating: 3,
  "one-step": 3,
  "two-steps": 5,
  "line-and-step": 4,
  // Two for each of at least three steps, and the first level; the fit adds two for each further step.
  staircase: 7,
};

/** A staircase has at least this many steps, all upwards: fewer may be caches that fill one after the other. */
const MIN_STAIRS = 3;
const MAX_STAIRS = 7;
const MAX_SHARE_OF_TWO = 0.8;
/** Flexible models must beat the simpler ones by this difference of the criterion ("very strong" evidence). */
const FLEXIBLE_MARGIN = 10;
export const FLEXIBLE: ReadonlySet<TrendModel> = new Set<TrendModel>(["line-and-step", "staircase"]);

/** Prefix sums, which give the squared deviations of any stretch around its mean in constant time. */
function spreadTable(y: Float64Array): (from: number, to: number) => number {
  const n = y.length;
  const first = new Float64Array(n + 1);
  const second = new Float64Array(n + 1);
  const y0 = y[0] ?? 0;
  for (let i = 0; i < n; i++) {
    const value = y[i]! - y0;
    first[i + 1] = first[i]! + value;
    second[i + 1] = second[i]! + value * value;
  }
  return (from, to) => {
    const sum = first[to]! - first[from]!;
    return Math.max(0, second[to]! - second[from]! - (sum * sum) / (to - from));
  };
}

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

/** Whether every step goes up and no two of them are nearly all of the rise: the others would be noise. */
function isStaircase(y: Float64Array, last: readonly Uint32Array[], steps: number): boolean {
  const rises: number[] = [];
  let above = Number.NaN;
  for (let k = steps, to = y.length; k >= 0; k--) {
    const from = last[k]![to]!;
    let sum = 0;
    for (let i = from; i < to; i++) sum += y[i]!;
    const level = sum / (to - from);
    if (k < steps) rises.push(above - level);
    above = level;
    to = from;
  }
  rises.sort((a, b) => b - a);
  const total = rises.reduce((sum, rise) => sum + rise, 0);
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
function lineAndStep(y: Float64Array): number {
  const n = y.length;
  let best = Number.POSITIVE_INFINITY;
  for (let c = 2; c <= n - 2; c++) {
    // Both sides share the slope. Each is centred on its own mean, which also removes the jump.
    let sxx = 0;
    let sxy = 0;
    let syy = 0;
    const means: [number, number][] = [];
    for (const [from, to] of [
      [0, c],
      [c, n],
    ] as const) {
      const mx = (from + to - 1) / 2;
      let my = 0;
      for (let i = from; i < to; i++) my += (y[i]! - y[0]!) / (to - from);
      means.push([mx, my]);
      for (let i = from; i < to; i++) {
        const dy = y[i]! - y[0]! - my;
        sxx += (i - mx) ** 2;
        sxy += (i - mx) * dy;
        syy += dy * dy;
      }
    }
    const slope = sxy / sxx;
    const jump = means[1]![1] - means[0]![1] - slope * (means[1]![0] - means[0]![0]);
    const steady = slope * (n - 1);
    if (jump > 0 && steady > 0 && steady >= MIN_STEADY_SHARE * (steady + jump)) {
      best = Math.min(best, Math.max(0, syy - slope * sxy));
    }
  }
  return best;
}

/**
 * Fits every model to equally spaced points, best first.
 * @param noise smallest standard deviation to assume, in the unit of y
 */
export function fitTrendModels(y: Float64Array, noise: number): TrendFit[] {
  const n = y.length;
  const spread = spreadTable(y);
  const sse: Record<Exclude<TrendModel, "staircase">, number> = {
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
    return { model: "staircase", sse: squares, bic, flatShare: 0 };
  });
  const others = TREND_MODELS.filter((model) => model !== "staircase").map(
    (model): TrendFit => ({
      model,
      sse: sse[model],
      bic: criterion(sse[model], PARAMETERS[model], model),
      flatShare: flat[model] ?? 0,
    }),
  );
  return [...others, ...stairs].sort((a, b) => a.bic - b.bic);
}
