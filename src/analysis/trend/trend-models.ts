import { fitLine, schwarz } from "../../stats/least-squares.ts";
import { fitLevelShift } from "./level-shift.ts";
import { deviationsOf, fitEnded, fitJumps } from "./segments.ts";

interface ModelTraits {
  /** Free parameters, break positions included; growth that ended has those of its sequence. */
  readonly parameters: number;
  /** Growth goes on where less than this share of the points is flat, and is over from the other share on. */
  readonly goesOnBelow: number;
  readonly overFrom: number;
  /** Margins by which the model must beat the best one that goes on to exclude a leak, and growth of any kind. */
  readonly noLeak: number;
  readonly noGrowth: number;
  /** Margin by which a flexible model must beat the simpler ones. */
  readonly handicap: number;
}

/** Margins of the criterion (Kass & Raftery 1995: strong, very strong). Sequences of rests and ramps are many. */
export const STRONG_EVIDENCE = 6;
const VERY_STRONG_EVIDENCE = 10;
const CERTAIN_EVIDENCE = 16;
/** A ramp or a sequence that ends describes no leak at all, so little evidence suffices. */
const ENDED_EVIDENCE = 2;

const PLAIN: Omit<ModelTraits, "parameters"> = {
  goesOnBelow: 0,
  overFrom: Number.POSITIVE_INFINITY,
  noLeak: STRONG_EVIDENCE,
  noGrowth: VERY_STRONG_EVIDENCE,
  handicap: 0,
};

/**
 * Models of a trend, fitted by least squares and compared by the Bayesian information criterion (Schwarz 1978,
 * "Estimating the dimension of a model"). The better model distinguishes a leak from a jump. The size of single rises
 * does not, because noise inflates it. Of a late ramp a longer run shows whether it goes on.
 */
export const TREND_MODELS = {
  flat: { ...PLAIN, parameters: 1 },
  line: { ...PLAIN, parameters: 2, goesOnBelow: 1 },
  "late-ramp": { ...PLAIN, parameters: 3, goesOnBelow: 0.7 },
  saturating: { ...PLAIN, parameters: 3, goesOnBelow: 0.2, overFrom: 0.4, noLeak: ENDED_EVIDENCE },
  "one-step": { ...PLAIN, parameters: 3, overFrom: 0 },
  "two-steps": { ...PLAIN, parameters: 5, overFrom: 0 },
  "line-and-step": { ...PLAIN, parameters: 4, goesOnBelow: 1, handicap: VERY_STRONG_EVIDENCE },
  ended: {
    ...PLAIN,
    parameters: 0,
    overFrom: 0,
    noLeak: ENDED_EVIDENCE,
    noGrowth: CERTAIN_EVIDENCE,
    handicap: VERY_STRONG_EVIDENCE,
  },
} as const satisfies Record<string, ModelTraits>;
type TrendModel = keyof typeof TREND_MODELS;

export interface TrendFit {
  readonly model: TrendModel;
  readonly sse: number;
  readonly bic: number;
  /** Share of the points after the end of the growth, or before its begin (`late-ramp`); 0 where neither exists. */
  readonly flatShare: number;
  /** Whether a model of growth that ended cannot be a leak of which a rest was observed by chance. */
  readonly certain: boolean;
}

/** Whether a model describes growth that continues: not flat, no steps, no ramp that ended long ago or began late. */
export const goesOn = ({ model, flatShare }: TrendFit): boolean => flatShare < TREND_MODELS[model].goesOnBelow;
/** Whether a model describes growth that is over. */
export const isOver = ({ model, flatShare }: TrendFit): boolean => flatShare >= TREND_MODELS[model].overFrom;

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
  const jumps = fitJumps(y, deviations);
  const sse: Record<Exclude<TrendModel, "ended">, number> = {
    flat: deviations.level(0, n),
    line: regress(y, (i) => i),
    "late-ramp": Number.POSITIVE_INFINITY,
    saturating: Number.POSITIVE_INFINITY,
    "one-step": jumps.one,
    "two-steps": jumps.two,
    "line-and-step": lineAndStep(y),
  };
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
    schwarz(n, squares, parameters, noise) + TREND_MODELS[model].handicap;
  const ended = fitEnded(y, deviations).map(({ sse: squares, parameters, fewJumps, ...rest }): TrendFit => {
    const bic = criterion(squares, parameters, fewJumps ? "two-steps" : "ended");
    return { model: "ended", sse: squares, bic, ...rest };
  });
  const others = (Object.keys(sse) as (keyof typeof sse)[]).map(
    (model): TrendFit => ({
      model,
      sse: sse[model],
      bic: criterion(sse[model], TREND_MODELS[model].parameters, model),
      flatShare: flat[model] ?? 0,
      certain: model === "one-step" || model === "two-steps",
    }),
  );
  return [...others, ...ended].sort((a, b) => a.bic - b.bic);
}
