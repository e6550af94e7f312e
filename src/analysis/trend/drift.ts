import { blockMeanAutocorrelation, slopePValue } from "../../stats/autocorrelated-trend.ts";
import { fitLine, type LineFit, studentQuantile, theilSen } from "../../stats/fit.ts";
import { mean, median, normalMad } from "../../stats/order-statistics.ts";
import type { Metric } from "../../telemetry/recording/model.ts";
import type { DriftClass } from "../document.ts";
import { type Bins, mergeBins, sliceBins } from "./bins.ts";
import { findCycle } from "./cycle.ts";
import { detectable, SIGNIFICANCE } from "./detectable.ts";
import { climbsEqualStairs } from "./equal-stairs.ts";
import { classifyFewCycles } from "./few-cycles.ts";
import { chooseFloor, type Floor, partition } from "./floor.ts";
import { quantumNoise } from "./materiality.ts";
import { FEW_PERIODS, findPeriod } from "./period.ts";
import { FLEXIBLE, fitTrendModels, type TrendFit, type TrendModel } from "./trend-models.ts";
import { teardownStart, warmupCut } from "./warmup.ts";

/** Parts a series is summed up in for the trend test. Twelve keep batch means of AR(1) 0.9 nearly independent from n = 300 on. */
const PARTS = 12;
const MIN_PARTS = 6;
const MAX_BLOCKS = 120;
/** Level of the trend test when the floor was looked for in several ways, which gives chance several tries. */
const CHOSEN_SIGNIFICANCE = 0.998;

/** What was found out about a series that can fall. Sizes in bytes, slopes per unit of the axis. */
export interface Drift {
  readonly class: DriftClass;
  readonly slope: number;
  /** 95 %. */
  readonly interval: readonly [number, number] | null;
  /** Smallest total growth over the observed span that would have been called a leak nine times in ten. */
  readonly mde: number | null;
  /** Whether the slope differs from zero at the 1 % level, one-sided. */
  readonly significant: boolean;
  readonly story: TrendModel | null;
}

export interface DriftInput {
  readonly bins: Bins;
  readonly metric: Metric;
  /** Smallest change worth a word, bytes. */
  readonly change: number;
  /** Smallest growth over the observed span worth a word, bytes (smaller than `change` under a long horizon). */
  readonly growth: number;
  /** Axis position before which the process was only starting; null when there is nothing to know. */
  readonly startupEnd: number | null;
  /** The axis is training steps, of which a cell may stand for several. */
  readonly perStep: boolean;
}

/** A ramp that has come to rest for this share of the points has ended. */
const ENDED_SHARE = 0.4;
/** ... and with this much rest it is no longer a steady leak. */
const RESTING_SHARE = 0.25;
/** Jumps must explain a rise this much better than a line (difference of the information criterion), or it stays open. */
const STRONG_EVIDENCE = 6;
/** How many standard errors of a difference of levels may hide that one lies above the other. */
const QUARTER_SLACK = 1;
/** Share of the growth that the second half must still show, and the slack of that: more and less where a warm-up may be fading out. */
const TAIL = { plain: { share: 0.2, slack: 1 }, afterWarmup: { share: 0.3, slack: 0.5 } } as const;
/** Lag-one correlation of 24 residuals that independent ones often show. */
const CHANCE_CORRELATION = 0.2;
/** The same for a ramp that rests; after a warm-up nothing that has ended may explain the rise better. */
const ENDED_EVIDENCE = 2;
/** Chance of an innocent leak, one-sided; `rising` needs 1 % only. Where a floor below cycles is tested, slow noise is less well known. */
const LEAK_CHANCE = 0.003;
const FLOOR_SIGNIFICANCE = { plain: 0.997, slowNoise: 0.998 } as const;
/** Points that the slow noise is read from. */
const NOISE_POINTS = 240;
/** Slow noise makes jumps look better than they are, in the evidence as well; by this much at most. */
const MAX_SLOW_EVIDENCE = 4;
/**
 * Steps after the warm-up (points, where there are no steps) over which growth must be watched before it is projected to a
 * horizon: over fewer, healthy runs also grow by the same bytes every step (three of 448 real ones did, over 49).
 */
const PROJECTED_POINTS = 100;
/**
 * Below a saw-tooth two steps and a line can look alike: growth below this share of what the run says it could have shown is no leak
 * there. A third of the false leaks on held-out recordings stays, and half a point of the recall goes (`bench/verdict`).
 */
const MIN_VISIBLE = 0.4;
/** The floor must rise or fall with the level: this share of what is material, in the lows of the first and last parts. */
const FLOOR_SHARE = 0.5;

const INSUFFICIENT: Drift = {
  class: "insufficient",
  slope: 0,
  interval: null,
  mde: null,
  significant: false,
  story: null,
};

interface Trend {
  readonly parts: Floor;
  readonly fit: LineFit;
  readonly standardError: number;
  /** Student's t from which on the slope is taken for one. */
  readonly critical: number;
  /** Last two parts minus first two. */
  readonly net: number;
}

function trendOf(bins: Bins, kind: Floor["kind"], parts: number, noise: number): Trend {
  const floor = partition(bins, kind, parts);
  const fit = fitLine(floor.x, floor.y);
  const variance = fit.sse / (parts - 2) + noise * noise;
  const level = kind === "middle" ? SIGNIFICANCE : CHOSEN_SIGNIFICANCE;
  const standardError = fit.sxx > 0 ? Math.sqrt(variance / fit.sxx) : Number.POSITIVE_INFINITY;
  return {
    parts: floor,
    fit,
    standardError,
    critical: studentQuantile(level, parts - 2),
    net: mean(floor.y, parts - 2, parts) - mean(floor.y, 0, 2),
  };
}

/**
 * Levels of four equal parts rise strictly, as far as the noise lets one see: growth is not confined to one stretch. A
 * staircase of few steps may rest for a quarter.
 */
function risesThroughout(y: Float64Array, noise: number, restsAllowed: number): boolean {
  const slack = QUARTER_SLACK * noise * Math.sqrt(8 / y.length);
  let previous = Number.NEGATIVE_INFINITY;
  let rests = 0;
  for (let q = 0; q < 4; q++) {
    const part = y.subarray(Math.floor((q * y.length) / 4), Math.floor(((q + 1) * y.length) / 4));
    const quarter = slack > 0 ? mean(part) : median(part);
    if (!(quarter >= previous - slack)) return false;
    if (quarter === previous - slack && ++rests > restsAllowed) return false;
    previous = quarter;
  }
  return true;
}

/**
 * The second half still grows: at least the given share of the whole happens between its two ends. One jump that makes up more than
 * a third of the growth is left out of the whole, or a leak with a jump on top would look as if it levelled off.
 */
function stillRising(y: Float64Array, net: number, noise: number, tail: { share: number; slack: number }): boolean {
  const width = Math.max(2, Math.floor(y.length / 6));
  const half = Math.floor(y.length / 2);
  let jump = 0;
  for (let i = 1; i < y.length; i++) jump = Math.max(jump, y[i]! - y[i - 1]!);
  const whole = jump > net / 3 ? Math.max(net - jump, net / 4) : net;
  return (
    mean(y, y.length - width, y.length) - mean(y, half, half + width) >
    tail.share * whole - tail.slack * noise * Math.sqrt(2 / width)
  );
}

/** Slope, interval and class of a series that can fall (allocated, host, differences of two counters). */
export function classifyDrift(input: DriftInput): Drift {
  const { metric, change, growth } = input;
  const noise = quantumNoise(metric);
  const kept = teardownStart(input.bins.low, input.bins.high, change);
  const raw = kept < input.bins.count ? sliceBins(input.bins, 0, kept) : input.bins;
  const cycle = findCycle(raw.middle, growth / 16);
  const bins = cycle ? { ...raw, low: cycle.floor, middle: cycle.floor, high: cycle.floor } : raw;
  const period = cycle ? 1 : findPeriod(bins.middle);
  if (period === 1 && !cycle) {
    const few = classifyFewCycles(bins, findPeriod(bins.middle, FEW_PERIODS), input);
    if (few) return few;
  }
  const size = Math.max(1, Math.ceil(bins.count / MAX_BLOCKS), period);
  const blocks = mergeBins(bins, size);
  const cut = Math.max(
    warmupCut(blocks.x, period > 1 ? blocks.low : blocks.middle, noise),
    startupCut(blocks, input.startupEnd),
  );
  const settled = sliceBins(blocks, cut, blocks.count);
  const most = Math.min(PARTS, settled.count);
  if (most < MIN_PARTS) return INSUFFICIENT;

  const { kind, parts } = period > 1 ? ({ kind: "low", parts: most } as const) : chooseFloor(settled, most, growth / 8);
  // Levels of parts come from the bins themselves: a median of medians wastes what a mean of the bins knows.
  const source = kind === "middle" ? sliceBins(bins, bins.count - settled.count * size, bins.count) : settled;
  const trend = trendOf(source, kind, parts, noise);
  const y = trend.parts.y;
  const points = kind === "middle" ? partition(settled, kind, settled.count) : trend.parts;
  const slope = theilSen(points.x, points.y);
  const finer = kind === "middle" ? Math.min(2 * PARTS, settled.count) : settled.count >= 6 * PARTS ? 2 * PARTS : parts;
  const fine = partition(source, kind, finer);
  const standardError = trend.standardError;
  const significant = trend.fit.slope > trend.critical * standardError;
  const uneven = unevenness(fine);
  const detail = kind === "middle" ? partition(source, kind, Math.min(NOISE_POINTS, source.count)).y : fine.y;
  const likeness = kind === "middle" ? blockMeanAutocorrelation(detail, finer) : 0;
  const slowEvidence = Math.min(MAX_SLOW_EVIDENCE, (1 + likeness) / (1 - likeness));
  const { net } = trend;
  const half = studentQuantile(0.975, parts - 2) * standardError;
  const observed = input.bins.x[input.bins.count - 1]! - input.bins.x[0]!;
  const seen = settled.x[settled.count - 1]! - settled.x[0]!;
  const mde = detectable(standardError * uneven, parts, observed, seen, growth);
  // The tail of a warm-up bends; a story that can follow any bend would make growth of it.
  const stories = fitTrendModels(fine.y, Math.max(noise, growth / 50)).filter(
    ({ story }) => cut === 0 || !FLEXIBLE.has(story),
  );
  const best = stories[0]!;
  const steadiest = stories.find(isSteady);
  const scatter = steadiest ? Math.sqrt((steadiest.sse / finer) * (parts / finer)) : 0;
  const lows = kind === "low" ? y : partition(settled, "low", parts).y;
  const unseen = seen > 0 ? observed / seen : 1;
  const floorNet = (mean(lows, parts - 2, parts) - mean(lows, 0, 2)) * unseen;
  // A slope that begins after the cut holds for the whole span only as far as the level really rose that much.
  const grown = Math.max(net, cut > 0 ? Math.min(slope * observed, endToEnd(blocks)) : slope * observed);

  const projected = growth < change;
  const sure = (): boolean => {
    if (kind === "middle") return slopePValue(detail, noise) < LEAK_CHANCE;
    // What was cut off and chosen leaves chance several tries: then both ways of looking at the noise must agree.
    if (cut > 0 && !(slopePValue(detail, noise) < LEAK_CHANCE)) return false;
    const level = uneven > 1 ? FLOOR_SIGNIFICANCE.slowNoise : FLOOR_SIGNIFICANCE.plain;
    return trend.fit.slope > studentQuantile(level, parts - 2) * standardError * uneven;
  };
  const reachesFar = (): boolean => {
    const least = growth + (cycle?.doubt ?? 0);
    const beyond = detail.map((value, i) => value - ((least / unseen) * i) / (detail.length - 1));
    const watched = input.perStep ? seen : settled.count * size;
    return watched >= PROJECTED_POINTS && net > least && slopePValue(beyond, noise) < LEAK_CHANCE;
  };
  const tolerated =
    best.story === "saturating" || kind !== "middle" ? ENDED_EVIDENCE * slowEvidence : STRONG_EVIDENCE * slowEvidence;

  const shape = (): DriftClass => {
    if (
      !cycle &&
      period === 1 &&
      endToEnd(raw) > growth &&
      (!projected || (input.perStep ? raw.x[raw.count - 1]! - raw.x[0]! : raw.count) >= PROJECTED_POINTS) &&
      climbsEqualStairs(raw.middle, growth / 16)
    ) {
      return "leak";
    }
    if (grown > growth && floorNet > FLOOR_SHARE * growth) {
      if (
        significant &&
        ((kind === "middle" && !cycle) || mde === null || Math.max(grown, net) >= MIN_VISIBLE * mde) &&
        (best.story === "staircase" || best.story === "line-and-step" || sure()) &&
        (!projected || reachesFar()) &&
        steadiest &&
        steadiest.bic - best.bic <= (cut > 0 ? 0 : tolerated) &&
        risesThroughout(y, scatter, best.story === "staircase" && cut === 0 ? 1 : 0) &&
        stillRising(y, net, scatter, cut > 0 ? TAIL.afterWarmup : TAIL.plain)
      ) {
        return "leak";
      }
      if (best.story === "saturating" && best.flatShare >= ENDED_SHARE) return "plateau";
      if (best.story === "one-step" || best.story === "two-steps") {
        if (significant && steadiest && steadiest.bic - best.bic < STRONG_EVIDENCE * slowEvidence) return "rising";
        return net > change ? "step" : "flat";
      }
      if (significant) return "rising";
    }
    if (net < -change && floorNet < -FLOOR_SHARE * change) return "shrink";
    return boundedShape(blocks, settled, cut, cycle ? cycle.swing : period > 1 || kind !== "middle" ? null : 0, change);
  };
  return {
    class: shape(),
    slope,
    interval: Number.isFinite(half) ? [slope - half, slope + half] : null,
    mde,
    significant,
    story: best.story,
  };
}

/** A story of growth that goes on: not flat, no jump or two, no ramp that has rested for long. */
function isSteady({ story, flatShare }: TrendFit): boolean {
  switch (story) {
    case "flat":
    case "one-step":
    case "two-steps":
      return false;
    case "saturating":
      return flatShare < RESTING_SHARE;
    default:
      return true;
  }
}

/**
 * How much larger the standard error of a slope is than independent parts would have it: neighbouring parts of a slow noise
 * resemble each other. From the lag-one correlation of the finer parts around their line; 1 for independent ones.
 */
function unevenness({ x, y }: Floor): number {
  const n = y.length;
  const { slope, intercept, sse } = fitLine(x, y);
  if (!(sse > 0)) return 1;
  let product = 0;
  let previous = y[0]! - intercept - slope * x[0]!;
  for (let i = 1; i < n; i++) {
    const rest = y[i]! - intercept - slope * x[i]!;
    product += rest * previous;
    previous = rest;
  }
  const rough = product / sse;
  // Few points around a fitted line look less alike than they are.
  const correlation = Math.min(0.8, rough + (2 + 4 * Math.max(0, rough)) / n);
  if (correlation <= CHANCE_CORRELATION) return 1;
  // Pairs of finer parts make the parts that are tested.
  const lag = (correlation * (1 + correlation)) / 2;
  return Math.sqrt((1 + lag) / (1 - lag));
}

/** Level of the last blocks minus that of the first. */
function endToEnd({ middle, count }: Bins): number {
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

function boundedShape(
  blocks: Bins,
  settled: Bins,
  cut: number,
  /** Swing of what repeats; null when something cycles without a fixed shape, 0 when nothing does. */
  cycleSwing: number | null,
  change: number,
): DriftClass {
  if (cycleSwing !== null && cycleSwing > change) return "sawtooth";
  const high = settled.high;
  const top = median(high);
  const excess = Math.max(...high) - top;
  const above = high.reduce((count, value) => count + (value - top > excess / 2 ? 1 : 0), 0);
  if (excess > Math.max(10 * normalMad(high), 5 * change) && above < Math.max(2, 0.05 * high.length)) return "spike";
  const swing = cycleSwing ?? median(Float64Array.from(high, (value, i) => value - settled.low[i]!));
  if (swing > change) return "sawtooth";
  if (cut > 0) {
    const early = median(settled.middle.subarray(0, Math.max(3, Math.floor(settled.count / 6))));
    const start = mean(blocks.middle, 0, Math.max(1, Math.floor(blocks.count / 50)));
    if (early - start > change) return "plateau";
  }
  return "flat";
}
