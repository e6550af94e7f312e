import { blockMeanAutocorrelation } from "../../stats/block-mean-autocorrelation.ts";
import { findPeriod } from "../../stats/dominant-period.ts";
import { fitLine } from "../../stats/least-squares.ts";
import { mean } from "../../stats/moments.ts";
import { residualMser } from "../../stats/mser.ts";
import { median } from "../../stats/order-statistics.ts";
import { slopeErrorInflation } from "../../stats/slope-error-inflation.ts";
import { testSlope } from "../../stats/slope-p-value.ts";
import { studentQuantile } from "../../stats/student-t.ts";
import { theilSen } from "../../stats/theil-sen.ts";
import { type Bins, mergeBins, sliceBins } from "./bins.ts";
import type { Cycle } from "./cycle.ts";
import { type DriftInput, growthAfterCut, levelsOf, MAX_EVIDENCE_FACTOR, NEGLIGIBLE, observedSpan } from "./drift.ts";
import { chooseLowerEnvelope, partition } from "./lower-envelope.ts";
import { quantumNoise } from "./materiality.ts";
import { fitTrendModels, goesOn, TREND_MODELS } from "./trend-models.ts";

/** Parts of the trend test. With twelve, batch means of AR(1) 0.9 noise are nearly independent from n = 300 on. */
const PARTS = 12;
const MIN_PARTS = 6;
const MAX_BLOCKS = 120;
/** Levels of the trend test on parts: after a cycle was removed, and when several lower envelopes were tried. */
const CYCLE_SIGNIFICANCE = 0.99;
const CHOSEN_SIGNIFICANCE = 0.998;
/** P-values below which growth is significant, and can be a leak. */
const MAX_P_VALUE = 0.005;
export const MAX_LEAK_P_VALUE = 0.003;
/** Share of leaks of the stated minimum that are found. */
const POWER = 0.9;
/**
 * Cost of the comparison of models, as measured (`bench/verdict`, part `minimum`): a leak must not look like a step, a
 * plateau or growth that ended, and autocorrelated noise looks like them more often.
 */
const MODELS_FACTOR = 1.6;
const MODELS_FACTOR_OF_EVIDENCE = 0.1;
/** Points from which the autocorrelated noise is estimated. */
const NOISE_POINTS = 240;

/** A series without its cycle and its tear-down, and with its warm-up marked. */
export type SettledSeries = ReturnType<typeof settle>;

/** Everything the class of a series that can fall is decided by. */
export type TrendEvidence = NonNullable<ReturnType<typeof gatherEvidence>>;

/** Splits off the warm-up. */
export function settle(
  /** All points before the tear-down. */
  running: Bins,
  bins: Bins,
  cycle: Cycle | null,
  noise: number,
  startupEnd: number | null,
) {
  // Bins per period when the autocorrelation has a clear one, else 1.
  const period = cycle ? 1 : findPeriod(bins.middle);
  const blockSize = Math.max(1, Math.ceil(bins.count / MAX_BLOCKS), period);
  const blocks = mergeBins(bins, blockSize);
  // Blocks of the warm-up.
  const cut = Math.max(
    residualMser(blocks.x, period > 1 ? blocks.low : blocks.middle, noise),
    startupCut(blocks, startupEnd),
  );
  const started = blocks.middle.subarray(startupCut(blocks, startupEnd));
  return { running, cycle, period, blockSize, blocks, started, cut, settled: sliceBins(blocks, cut, blocks.count) };
}

/** Last two levels minus first two. */
const netOf = (y: Float64Array): number => mean(y, y.length - 2, y.length) - mean(y, 0, 2);

/**
 * @param tests number of independent tests that the choice of this series amounts to
 * @returns null when too few blocks are left after the warm-up
 */
export function gatherEvidence(series: SettledSeries, bins: Bins, input: DriftInput, tests: number) {
  const { blocks, settled, cut, period, blockSize } = series;
  const { growth } = input;
  const noise = quantumNoise(input.metric);
  const most = Math.min(PARTS, settled.count);
  if (most < MIN_PARTS) return null;
  const { kind, parts } =
    period > 1 ? ({ kind: "low", parts: most } as const) : chooseLowerEnvelope(settled, most, growth / 8);
  const plain = kind === "middle";
  // Levels of parts come from the bins: a median of medians is less efficient than a mean of the bins.
  const source = plain ? sliceBins(bins, bins.count - settled.count * blockSize, bins.count) : settled;
  const envelope = partition(source, kind, parts);
  const y = envelope.y;
  const fit = fitLine(envelope.x, y);
  const standardError =
    fit.sxx > 0 ? Math.sqrt((fit.sse / (parts - 2) + noise * noise) / fit.sxx) : Number.POSITIVE_INFINITY;
  const points = plain ? partition(settled, kind, settled.count) : envelope;
  const slope = theilSen(points.x, points.y);
  const finer = plain ? Math.min(2 * PARTS, settled.count) : settled.count >= 6 * PARTS ? 2 * PARTS : parts;
  const fine = partition(source, kind, finer);
  const inflation = slopeErrorInflation(fine.x, fine.y);
  const detail = plain ? partition(source, kind, Math.min(NOISE_POINTS, source.count)).y : fine.y;
  const test = testSlope(detail, noise);
  const correlation = plain ? blockMeanAutocorrelation(detail, finer) : 0;
  const evidenceFactor = Math.min(MAX_EVIDENCE_FACTOR, (1 + correlation) / (1 - correlation));
  const observed = observedSpan(input.bins);
  const seen = observedSpan(settled);
  const unseen = seen > 0 ? observed / seen : 1;
  const levels = levelsOf(series, kind === "low" ? blocks.low : blocks.middle, Math.max(noise, growth / NEGLIGIBLE));
  const lineGrowth = growthAfterCut(levels, slope);
  // The tail of a warm-up bends, and a flexible model would take the bend for growth.
  const models = fitTrendModels(fine.y, Math.max(noise, growth / NEGLIGIBLE)).filter(
    ({ model }) => cut === 0 || model === "ended" || TREND_MODELS[model].handicap === 0,
  );
  const steadiest = models.find(goesOn);
  const limitsOf = () => {
    if (plain) {
      const margin = studentQuantile(POWER, detail.length - 2) * test.standardError;
      return { critical: test.critical(MAX_LEAK_P_VALUE), margin };
    }
    const error = standardError * inflation * seen;
    const at = (probability: number) => studentQuantile(probability, parts - 2) * error;
    return { critical: at(CHOSEN_SIGNIFICANCE), margin: at(POWER) };
  };
  /**
   * Minimum detectable growth over the observed span: the larger of what the noise and the models allow, and what is
   * material, with the noise of its estimate.
   */
  const detectable = (): number | null => {
    const { critical, margin } = limitsOf();
    if (!Number.isFinite(critical + margin)) return null;
    const factor = MODELS_FACTOR + MODELS_FACTOR_OF_EVIDENCE * (evidenceFactor - 1);
    return unseen * Math.max(factor * (critical + margin), growth + margin);
  };
  const risesByParts = (level: number) =>
    fit.slope > studentQuantile(1 - (1 - level) / tests, parts - 2) * standardError;
  // What is left of a cycle, and the envelope of one, is not autocorrelated noise: there the parts decide.
  const isSignificant = () => {
    if (!plain) return risesByParts(CHOSEN_SIGNIFICANCE);
    if (series.cycle) return risesByParts(CYCLE_SIGNIFICANCE);
    return tests * test.pValue < MAX_P_VALUE || (inflation === 1 && risesByParts(CHOSEN_SIGNIFICANCE));
  };
  const net = netOf(y);
  return {
    ...series,
    noise,
    kind,
    parts,
    /** Ordinary least squares through the levels of the parts. */
    fittedSlope: fit.slope,
    standardError,
    /** Theil–Sen slope through the finest points. */
    slope,
    /** Of the slope through `detail`, in autocorrelated noise, corrected for the number of tests (Bonferroni). */
    pValue: tests * test.pValue,
    significant: isSignificant(),
    /** Factor of the standard error for autocorrelated noise. */
    inflation,
    /** Factor of the model criterion's margins for autocorrelated noise. */
    evidenceFactor,
    /** Points for the p-value of the slope. */
    detail,
    mde: detectable(),
    observed,
    seen,
    /** Observed span over the span after the warm-up. */
    unseen,
    net,
    /** The net growth of the lower envelope, extrapolated to the observed span. */
    envelopeNet: netOf(kind === "low" ? y : partition(source, "low", parts).y) * unseen,
    levels,
    /** Growth of the stretch that the slope describes. */
    lineGrowth,
    /** Growth over the observed span. A slope after the cut applies to it only as far as the level really rose. */
    grown: Math.max(net, cut > 0 ? Math.min(slope * observed, endToEnd(blocks)) : slope * observed),
    best: models[0]!,
    steadiest,
  };
}

/** Level of the last blocks minus that of the first. */
export function endToEnd({ middle, count }: Bins): number {
  const width = Math.max(1, Math.round(count / 24));
  return median(middle.subarray(count - width)) - median(middle.subarray(0, width));
}

/** Blocks that belong to the start of the process; at most half of them. */
function startupCut(blocks: Bins, end: number | null): number {
  if (end === null) return 0;
  let cut = 0;
  while (cut < blocks.count / 2 && blocks.x[cut]! < end) cut++;
  return cut;
}
