import { fitHinge, schwarz } from "../../stats/least-squares.ts";
import { normalMad } from "../../stats/mad.ts";
import { mean } from "../../stats/moments.ts";
import { median } from "../../stats/order-statistics.ts";
import { slopePValue } from "../../stats/slope-p-value.ts";
import { studentQuantile } from "../../stats/student-t.ts";
import type { DriftClass } from "../series/document.ts";
import { type Bins, sliceBins } from "./bins.ts";
import { type Cycle, findCycle } from "./cycle.ts";
import {
  type Drift,
  type DriftInput,
  growthAfterRise,
  growthBesideJump,
  growthOfRise,
  NEGLIGIBLE,
  observedSpan,
} from "./drift.ts";
import { equalTeeth } from "./equal-teeth.ts";
import { findLevelShift, withoutShift } from "./level-shift.ts";
import { quantumNoise } from "./materiality.ts";
import { fitJumps } from "./segments.ts";
import { fadesOut, fitSlowdown, slowdownOf } from "./slowdown.ts";
import { climbsStairs } from "./stairs.ts";
import { teardownStart } from "./teardown.ts";
import {
  endToEnd,
  gatherEvidence,
  MAX_LEAK_P_VALUE,
  type SettledSeries,
  settle,
  type TrendEvidence,
} from "./trend-evidence.ts";
import { isOver, STRONG_EVIDENCE, TREND_MODELS } from "./trend-models.ts";

/** Independent tests that the choice of a warm-up amounts to, about: the cut with the straightest rest is taken. */
const CUT_TESTS = 3;
/** Level of the test of a lower envelope, where the autocorrelation of the noise is less well known. */
const ENVELOPE_SIGNIFICANCE = { plain: 0.997, autocorrelated: 0.998 } as const;
/**
 * Steps after the warm-up (points, where there are no steps) over which growth must be observed before it is projected
 * to a horizon. Over fewer, healthy runs also grow by the same bytes every step (three of 448 real ones did, over 49).
 */
const MIN_PROJECTED_POINTS = 100;
/**
 * Below a saw-tooth two steps and a line can look alike, so growth there must reach this share of the detectable
 * minimum. This leaves a third of the false leaks on held-out recordings and costs half a point of recall
 * (`bench/verdict`).
 */
const MIN_VISIBLE = 0.5;
/**
 * Largest drop, as a share of the growth around it, that leaves a line: after a larger one less than half of it grew
 * again, as in a saw-tooth.
 */
const MAX_DROP = 2 / 3;
/**
 * Growth below fewer than eight cycles must be this many times what an error of their period amounts to. It takes four
 * of five false leaks of such saw-teeth and 0.2 points of recall (`bench/verdict`, `injected`).
 */
const MAX_PERIOD_ERROR = 3;
/** From this number of cycles on, parts of several cycles each detect smaller growth. */
const MAX_CYCLES = 8;
/**
 * A drop by this share of what had risen may end a large cycle, of which the rise after it is the next: two or three of
 * them and a leak look alike. In this share of the beginning, a program frees what it loaded.
 */
const MIN_FALL = 0.5;
const MAX_START = 0.2;
/** After such a drop by nearly everything nothing has grown. */
const EMPTIED = 0.95;
/** Independent tests that the choice of a drop amounts to, about. */
const DROP_TESTS = 10;
/** The lower envelope must rise or fall with the level by this share of what is material. */
const ENVELOPE_SHARE = 0.5;

const INSUFFICIENT: Drift = {
  class: "insufficient",
  slope: 0,
  growth: 0,
  interval: null,
  mde: null,
  significant: false,
  slowdown: null,
};

/** Slope, interval and class of a series that can fall (allocated, host, differences of two counters). */
export function classifyDrift(input: DriftInput): Drift {
  const { growth, change } = input;
  // The fall of a last tooth looks like the end of a process.
  const whole = equalTeeth(input.bins.middle);
  const end = whole ? input.bins.count : teardownStart(input.bins, change);
  const running = sliceBins(input.bins, 0, end);
  const teeth = whole ?? equalTeeth(running.middle);
  if (teeth !== null) return classifyTeeth(running, teeth, input);
  const shift = findLevelShift(running.middle, change);
  const level = shift && withoutShift(running, shift);
  // A jump is removed before a cycle is searched: the cycle would contain it.
  const beside = level && shift.bytes > 0 ? (equalTeeth(level.middle) ?? findCycle(level.middle, growth / 16)) : null;
  if (beside) {
    const drift = classifyRunning(level!, beside, input);
    if (!isGrowing(drift)) return lateRiseBelow(running, level!, beside, drift, input) ?? { ...drift, class: "step" };
    if (drift.class === "rising" || isGrowing(classifyRunning(running, null, input))) return drift;
    return { ...drift, class: "rising" };
  }
  const drift = classifyRunning(running, findCycle(running.middle, growth / 16), input);
  if (!level || shift.bytes >= 0) return drift;
  const at = shift.at / level.count;
  const fallen = at > MAX_START ? -shift.bytes / (at * shift.rise) : 0;
  if (drift.class === "leak" && fallen > MIN_FALL) return { ...drift, class: "rising" };
  if (!isGrowing(drift) && fallen < EMPTIED && -shift.bytes <= MAX_DROP * shift.rise) {
    const rest = classifyRunning(level, null, input, DROP_TESTS);
    // What the drop took back did not grow.
    const net = rest.growth + shift.bytes;
    if (rest.class === "leak" && net > growth) return { ...rest, class: "rising", growth: net };
  }
  return drift;
}

/** Teeth that a possible period explains without growth do not grow, and hide as much as the other periods allow. */
function classifyTeeth(running: Bins, teeth: Cycle, input: DriftInput): Drift {
  const drift = classifyRunning(running, teeth, input);
  const mde = drift.mde === null ? null : Math.max(drift.mde, 2 * teeth.periodError);
  return { ...drift, mde, class: isGrowing(drift) && !teeth.certain ? "sawtooth" : drift.class };
}

/** Growth that begins late below a cycle, which also passes for a jump; null for one. The jump is put back first. */
function lateRiseBelow(running: Bins, level: Bins, { lowerEnvelope }: Cycle, drift: Drift, input: DriftInput) {
  const below = lowerEnvelope.map((value, i) => value + running.middle[i]! - level.middle[i]!);
  const late = findLateRise(below, input.growth, Math.max(quantumNoise(input.metric), input.growth / NEGLIGIBLE));
  return late && lateDrift(late, observedSpan(running), drift.mde);
}

function lateDrift({ bytes: growth, onset }: LateRise, span: number, mde: number | null): Drift {
  const slope = growth / ((1 - onset) * span);
  return { class: "rising", slope, growth, interval: null, mde, significant: true, slowdown: null };
}

const isGrowing = (drift: Drift): boolean => drift.class === "leak" || drift.class === "rising";

/** @param tests number of independent tests that the choice of this series amounts to */
function classifyRunning(running: Bins, cycle: Cycle | null, input: DriftInput, tests = 1): Drift {
  const envelope = cycle?.lowerEnvelope;
  const bins = envelope ? { ...running, low: envelope, middle: envelope, high: envelope } : running;
  const series = settle(running, bins, cycle, quantumNoise(input.metric), input.startupEnd);
  const evidence = gatherEvidence(series, bins, input, tests);
  if (evidence === null) return INSUFFICIENT;
  const { slope, mde, significant } = evidence;
  const half = studentQuantile(0.975, evidence.parts - 2) * evidence.standardError;
  const stairs = stairsOf(evidence, input);
  const shape = stairs === "leak" ? stairs : classOf(evidence, input);
  const found = shape === "leak" ? shape : (stairs ?? shape);
  if (found !== "leak" && found !== "rising") {
    const late = findLateRise(evidence.detail, input.growth, roundingOf(evidence, input));
    if (late) return lateDrift(late, evidence.seen, mde);
    const last = found === "plateau" ? growthAfterRise(evidence.levels) : { slope, growth: evidence.lineGrowth };
    return { class: found, ...last, interval: intervalOf(last.slope, half), mde, significant, slowdown: null };
  }
  // Between two stairs a series rests, which is neither a warm-up nor an onset.
  const margin = stairs ? Number.POSITIVE_INFINITY : evidence.evidenceFactor;
  const hasJump = evidence.best.model === "line-and-step" && evidence.kind === "middle";
  const beside = hasJump ? growthBesideJump(evidence.levels) : null;
  const rise = riseOf(evidence, beside ?? growthOfRise(evidence.levels, margin));
  const interval = rise.late ? null : intervalOf(rise.slope, half);
  // The stretch itself must have grown materially, or no rule of the verdict judges the leak.
  const isJudged = isProjected(input) || Math.max(rise.growth, evidence.net) > input.growth;
  const stated = found === "leak" && (!isJudged || mayBeOfCycles(running, cycle, rise.growth)) ? "rising" : found;
  const slowdown =
    stated === "rising" && !stairs && !rise.late
      ? slowdownOf(evidence.started, roundingOf(evidence, input), evidence.evidenceFactor)
      : null;
  return { class: stated, slope: rise.slope, growth: rise.growth, interval, mde, significant, slowdown };
}

/** Whether a slightly other period would explain the growth below a few cycles. */
const mayBeOfCycles = ({ count }: Bins, cycle: Cycle | null, growth: number): boolean =>
  cycle !== null &&
  !cycle.certain &&
  count < MAX_CYCLES * cycle.period &&
  growth < MAX_PERIOD_ERROR * cycle.periodError;

/** Below irregular teeth the slope is that of the envelope, in the same stretch; an onset cannot be seen there. */
function riseOf({ kind, period, slope, lineGrowth }: TrendEvidence, rise: ReturnType<typeof growthOfRise>) {
  if (kind === "middle" || period > 1) return rise;
  const growth = rise.late || rise.slope === 0 ? lineGrowth : slope * (rise.growth / rise.slope);
  return { slope, growth, late: false };
}

/** Smallest standard deviation of a level. */
const roundingOf = ({ noise }: TrendEvidence, { growth }: DriftInput): number => Math.max(noise, growth / NEGLIGIBLE);

const intervalOf = (slope: number, half: number): Drift["interval"] =>
  Number.isFinite(half) ? [slope - half, slope + half] : null;

const isProjected = ({ growth, change }: DriftInput): boolean => growth < change;

function stairsOf({ cycle, period, running }: SettledSeries, input: DriftInput): ReturnType<typeof climbsStairs> {
  const points = input.perStep ? observedSpan(running) : running.count;
  if (cycle || period > 1 || endToEnd(running) <= input.growth) return null;
  if (isProjected(input) && points < MIN_PROJECTED_POINTS) return null;
  return climbsStairs(running.middle, input.growth / 16);
}

function classOf(evidence: TrendEvidence, input: DriftInput): DriftClass {
  const { best, steadiest, net, envelopeNet, significant, cycle, period, kind } = evidence;
  const { change, growth } = input;
  if (evidence.grown > growth && envelopeNet > ENVELOPE_SHARE * growth) {
    if (isLeak(evidence, input)) return "leak";
    if (
      cycle === null &&
      period === 1 &&
      fadesOut(evidence.started, roundingOf(evidence, input), evidence.evidenceFactor)
    )
      return "plateau";
    if (isOver(best)) {
      const close = steadiest && steadiest.bic - best.bic < TREND_MODELS[best.model].noGrowth * evidence.evidenceFactor;
      const certain = best.certain || best.model === "saturating";
      if (significant && (certain ? close : isSignificantLeak(evidence))) return "rising";
      if (best.model === "saturating") return "plateau";
      return net > change ? (best.model === "ended" ? "plateau" : "step") : "flat";
    }
    if (significant) return "rising";
  }
  if (net < -change && envelopeNet < -ENVELOPE_SHARE * change) return "shrink";
  const cycleSwing = cycle ? cycle.swing : period > 1 || kind !== "middle" ? null : 0;
  return boundedShape(evidence.blocks, evidence.settled, evidence.cut, cycleSwing, change);
}

function isLeak(evidence: TrendEvidence, input: DriftInput): boolean {
  const { best, steadiest, significant, kind, cycle, mde, net, cut } = evidence;
  if (!significant || !steadiest) return false;
  const margin = kind === "middle" ? TREND_MODELS[best.model].noLeak : TREND_MODELS.ended.noLeak;
  const tolerated = cut > 0 ? 0 : margin * evidence.evidenceFactor;
  return (
    ((kind === "middle" && !cycle) || mde === null || Math.max(evidence.grown, net) >= MIN_VISIBLE * mde) &&
    (best.model === "line-and-step" || isSignificantLeak(evidence)) &&
    (!isProjected(input) || reachesHorizon(evidence, input)) &&
    steadiest.bic - best.bic <= tolerated &&
    fitSlowdown(evidence.blocks.middle, roundingOf(evidence, input), evidence.evidenceFactor) === null
  );
}

function isSignificantLeak(evidence: TrendEvidence): boolean {
  const { kind, cut, inflation, parts, standardError } = evidence;
  if (kind === "middle") return evidence.pValue < MAX_LEAK_P_VALUE / (cut > 0 ? CUT_TESTS : 1);
  // A warm-up cut and a choice of envelopes are multiple testing: then both noise models must agree.
  if (cut > 0 && !(evidence.pValue < MAX_LEAK_P_VALUE)) return false;
  const level = inflation > 1 ? ENVELOPE_SIGNIFICANCE.autocorrelated : ENVELOPE_SIGNIFICANCE.plain;
  return evidence.fittedSlope > studentQuantile(level, parts - 2) * standardError * inflation;
}

/** Whether growth beyond what the horizon allows is significant over enough points. */
function reachesHorizon(evidence: TrendEvidence, input: DriftInput): boolean {
  const { detail, noise, cycle, unseen, settled, blockSize, net } = evidence;
  const least = input.growth + (cycle?.periodError ?? 0);
  const beyond = detail.map((value, i) => value - ((least / unseen) * i) / (detail.length - 1));
  const points = input.perStep ? evidence.seen : settled.count * blockSize;
  return points >= MIN_PROJECTED_POINTS && net > least && slopePValue(beyond, noise) < MAX_LEAK_P_VALUE;
}

/**
 * Class of a series that neither grows nor shrinks.
 * @param cut blocks of `blocks` that are warm-up; `settled` are the others
 * @param cycleSwing swing of the cycle, 0 when there is none, null when the series cycles without a fixed shape
 * @param change smallest material change, bytes
 */
function boundedShape(blocks: Bins, settled: Bins, cut: number, cycleSwing: number | null, change: number): DriftClass {
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

/** Range of the onset, in shares of the points. Earlier growth is significant as a line. */
const ONSETS = { first: 0.45, last: 0.94 } as const;
/** Points after the onset. */
const MIN_POINTS = 4;
/** False alarm rate, one-sided, at the best of all onsets. */
const MAX_P_VALUE = 0.001;

interface LateRise {
  /** Rise from the onset to the end, in the unit of the points. */
  readonly bytes: number;
  /** Share of the points before it. */
  readonly onset: number;
}

/**
 * A level followed by growth that lasts until the end, which is too short for a line through all points to be
 * significant: the hinge with the least squares over all onsets.
 * The last quarter of the rise lies above all that was before it, one jump or two do not fit as well, and the rise is
 * significant in autocorrelated noise.
 * @param y equally spaced points of the level
 * @param least smallest rise to report
 * @param rounding smallest standard deviation to assume
 */
function findLateRise(y: Float64Array, least: number, rounding: number): LateRise | null {
  const n = y.length;
  const last = Math.min(n - 1 - MIN_POINTS, Math.floor(ONSETS.last * n));
  const hinge = fitHinge(
    y.map((_, i) => i),
    y,
    Math.floor(ONSETS.first * n),
    last,
  );
  if (hinge === null) return null;
  const { onset, slope, sse } = hinge;
  const bytes = slope * (n - 1 - onset);
  if (!(bytes > least)) return null;
  const end = median(y.subarray(n - Math.max(2, Math.round((n - onset) / 4))));
  for (let i = 0; i < onset; i++) if (!(y[i]! < end)) return null;
  const criterion = (squares: number, parameters: number) => schwarz(n, squares, parameters, rounding);
  const { one, two } = fitJumps(y);
  if (criterion(sse, 3) > Math.min(criterion(one, 3), criterion(two, 5)) - STRONG_EVIDENCE) return null;
  return slopePValue(y, rounding, onset) < MAX_P_VALUE ? { bytes, onset: onset / (n - 1) } : null;
}
