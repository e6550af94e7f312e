import { detrended, fitSpaced } from "../../stats/least-squares.ts";
import { mean } from "../../stats/moments.ts";
import { median, medianInPlace } from "../../stats/order-statistics.ts";
import { PhaseFolder, scattered, stringLength } from "./phase-folder.ts";

/** A cycle of any shape, whose period need not be a whole number of points, and the series without it. */
export interface Cycle {
  /** In points. */
  readonly period: number;
  /** The series minus the cycle, in the unit of the series. */
  readonly lowerEnvelope: Float64Array;
  /** Highest minus lowest value of the cycle. */
  readonly swing: number;
  /** Growth that an error of the period can produce: the swing's share in the largest gap between sampled phases. */
  readonly periodError: number;
  /** Whether the series grows below the cycle with every period that it may have. */
  readonly certain: boolean;
}

/** With fewer cycles a slow drift would pass for one. */
const MIN_CYCLES = 4;
/** Points of one search. Longer series are searched thinned (slow cycles) and in their last part (fast ones). */
const WINDOW = 240;
/** Maximum string length at the period, as a share of that in random order. */
const MAX_STRING_RATIO = 0.6;
/** Maximum mean residual of the cycle, as a share of the mean deviation before. */
const MAX_RESIDUAL = 0.5;
/** The same within one segment, and the share of the segments that must satisfy it. */
const MAX_SEGMENT_RESIDUAL = 0.7;
const MIN_SEGMENTS_SHARE = 0.75;
/** Minimum fall within a segment, as a share of the swing. Growth between the teeth reduces the fall. */
const MIN_FALL = 0.3;
/** Beats per series that count as none, and that are reliable, for periods near up to MAX_BEAT points. */
const NO_BEAT = 0.15;
const MIN_BEATS = 3.8;
const MAX_BEAT = 24;
/**
 * Beats up to which a period of a whole number of samples is tried, how much longer its string may be, and the largest
 * number of samples in a point. Steps repeat after a whole number of them. A period that is so close by chance is rare,
 * and its beat would pass for growth, or hide it.
 */
const MAX_WHOLE_BEATS = 1;
const MAX_WHOLE_RATIO = 1.05;
const MAX_TURNS = 8;
/** Points of equal phase, without which a slope through them is little more than chance. */
const MIN_REPEATS = 16;
/** Maximum slope of the cycle itself from end to end, as a share of its swing. */
const MAX_SLOPE = 0.3;
/**
 * Factor by which the string length with a slope must be shorter than without one. At a period close to a whole number
 * of points a saw-tooth is sampled at nearly the same few phases, and a slightly wrong period turns a part of its swing
 * into growth.
 */
const MIN_GAIN_OF_SLOPE = 1.6;
/** Maximum distance between the periods without and with a slope, in cycles over the series. */
const RIVAL_REACH = 0.3;
const TREND_PARTS = 8;

/**
 * The same after subtraction of the straight line on which neighbours in phase agree best (the median of their slopes).
 * A saw-tooth of few teeth tilts every line fitted to the series as a whole.
 */
function detrendedStringLength(values: Float64Array, folded: Uint32Array): { score: number; slope: number } {
  const n = folded.length;
  const slopes: number[] = [];
  for (let k = 0; k < n; k++) {
    const i = folded[k]!;
    const j = folded[(k + 1) % n]!;
    if (Math.abs(i - j) >= n / 8) slopes.push((values[i]! - values[j]!) / (i - j));
  }
  const slope = slopes.length === 0 ? 0 : median(slopes);
  let sum = 0;
  for (let k = 0; k < n; k++) {
    const i = folded[k]!;
    const j = folded[(k + 1) % n]!;
    sum += Math.abs(values[i]! - values[j]! - slope * (i - j));
  }
  return { score: sum / n, slope };
}

/**
 * Whether a frequency is close to a period of q points. Every q-th point then moves slowly in phase, and neighbours in
 * phase are neighbours in time as well: any slow curve would look like a cycle that beats once or twice.
 */
function beatsSlowly(frequency: number, n: number): boolean {
  const most = Math.min(MAX_BEAT, Math.max(2, n / 40));
  for (let q = 1; q <= most; q++) {
    const turns = frequency * q;
    const beats = n * Math.abs(turns - Math.round(turns));
    if (beats > NO_BEAT && beats < MIN_BEATS) return true;
  }
  return false;
}

interface CycleFit {
  readonly frequency: number;
  readonly score: number;
  /** Of the straight line that was subtracted. */
  readonly slope: number;
}

/** Best frequency in a range, cycles per point, each with the straight line that suits it best. */
function search(values: Float64Array, from: number, to: number, step: number, folder: PhaseFolder): CycleFit {
  let best: CycleFit = { frequency: 0, score: Number.POSITIVE_INFINITY, slope: 0 };
  for (let frequency = from; frequency <= to; frequency += step) {
    if (beatsSlowly(frequency, values.length)) continue;
    const { score, slope } = detrendedStringLength(values, folder.fold(frequency));
    if (score < best.score) best = { frequency, score, slope };
  }
  return best;
}

/** Frequencies of the search in a window of some length, and the order of the points by phase at each. */
interface Grid {
  readonly frequencies: readonly number[];
  readonly folded: readonly Uint32Array[];
}

/** The last few orders are kept: they depend on the window's length alone, and sorting takes most of the time. */
const grids = new Map<number, Grid>();
const MAX_GRIDS = 4;

function gridOf(n: number): Grid {
  const known = grids.get(n);
  if (known !== undefined) return known;
  const folder = new PhaseFolder(n);
  const frequencies: number[] = [];
  const folded: Uint32Array[] = [];
  const step = 1 / (5 * n);
  for (let frequency = MIN_CYCLES / n; frequency <= 0.5; frequency += step) {
    if (beatsSlowly(frequency, n)) continue;
    frequencies.push(frequency);
    folded.push(folder.fold(frequency).slice());
  }
  const [oldest] = grids.keys();
  if (grids.size >= MAX_GRIDS && oldest !== undefined) grids.delete(oldest);
  const grid = { frequencies, folded };
  grids.set(n, grid);
  return grid;
}

/** Best frequency of a window, without a slope. */
function searchWindow(values: Float64Array): Pick<CycleFit, "frequency" | "score"> {
  const { frequencies, folded } = gridOf(values.length);
  let best = { frequency: 0, score: Number.POSITIVE_INFINITY };
  for (let k = 0; k < frequencies.length; k++) {
    const score = stringLength(values, folded[k]!);
    if (score < best.score) best = { frequency: frequencies[k]!, score };
  }
  return best;
}

/** Medians of a few parts, joined by lines: follows jumps and late growth, ignores the edges of a cycle. */
function slowTrend(y: Float64Array): Float64Array {
  const n = y.length;
  const x: number[] = [];
  const level: number[] = [];
  for (let k = 0; k < TREND_PARTS; k++) {
    const from = Math.floor((k * n) / TREND_PARTS);
    const to = Math.floor(((k + 1) * n) / TREND_PARTS);
    x.push((from + to - 1) / 2);
    level.push(median(y.subarray(from, to)));
  }
  let k = 0;
  return y.map((_, i) => {
    while (k < TREND_PARTS - 2 && i > x[k + 1]!) k++;
    return level[k]! + ((level[k + 1]! - level[k]!) * (i - x[k]!)) / (x[k + 1]! - x[k]!);
  });
}

/** Shape of the cycle: for each point the median of its neighbours in phase, which keeps sharp edges. */
function template(rest: Float64Array, folded: Uint32Array): Float64Array {
  const n = rest.length;
  const reach = Math.max(2, Math.min(6, Math.floor(n / 40)));
  const near = new Float64Array(2 * reach + 1);
  const out = new Float64Array(n);
  for (let k = 0; k < n; k++) {
    for (let j = -reach; j <= reach; j++) near[j + reach] = rest[folded[(k + j + n) % n]!]!;
    out[folded[k]!] = medianInPlace(near);
  }
  return out;
}

const meanSize = (values: Float64Array): number => mean(values.map(Math.abs));

/** String length in random order, nearly: of each point and one far away in time. */
function unorderedStringLength(values: Float64Array): number {
  return stringLength(values, scattered(values.length));
}

/**
 * Finds a cycle of any shape and period and subtracts it. Points are folded onto one cycle, and the period with the
 * shortest string length is the period (Lafler and Kinman 1965, "An RR Lyrae star survey with the Lick 20-inch
 * astrograph II"), here on absolute differences.
 * @param least mean deviation from a smooth curve below which no cycle is searched, in the unit of the series
 * @returns null when the series has no clear cycle
 */
export function findCycle(y: Float64Array, least = 0): Cycle | null {
  const n = y.length;
  if (n < 6 * MIN_CYCLES) return null;
  const flat = detrended(y);
  const rough = slowTrend(y);
  // A slow wander must not pass for a slow cycle, so the residual is compared with that of a smooth curve as well.
  const before = Math.min(meanSize(flat), meanSize(y.map((value, i) => value - rough[i]!)));
  if (!(before > least)) return null;
  const thin = Math.ceil(n / WINDOW);
  const coarse = thin === 1 ? flat : flat.filter((_, i) => i % thin === 0);
  const slow = searchWindow(coarse);
  const found = [{ frequency: slow.frequency / thin, score: slow.score / unorderedStringLength(coarse) }];
  if (thin > 1) {
    const last = flat.subarray(n - WINDOW);
    const fast = searchWindow(last);
    found.push({ frequency: fast.frequency, score: fast.score / unorderedStringLength(last) });
  }
  const best = found.reduce((a, b) => (b.score < a.score ? b : a));
  if (!(best.score < MAX_STRING_RATIO)) return null;
  const folder = new PhaseFolder(n);
  const near = (frequency: number, width: number, step: number): CycleFit =>
    search(flat, Math.max(MIN_CYCLES / n, frequency - width), frequency + width, step, folder);
  const sharpened = (frequency: number, width: number): CycleFit => {
    const rough = near(frequency, width, 1 / (12 * n));
    const fine = near(rough.frequency, 1 / (12 * n), 1 / (48 * n));
    return fine.score < rough.score ? fine : rough;
  };
  // A saw-tooth tilts the fitted line, which moves the coarse optimum by up to two of its steps.
  let refined = sharpened(best.frequency, 2 / (5 * Math.min(n, WINDOW)));
  // A multiple of the period is a period as well, with a longer string.
  for (const times of [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]) {
    const turns = times * refined.frequency;
    const other = Math.abs(turns - Math.round(turns));
    if (other < MIN_CYCLES / n) continue;
    const shorter = sharpened(other, 1 / (32 * Math.min(n, WINDOW)));
    if (shorter.score < refined.score) refined = shorter;
  }
  if (!(refined.frequency > 0)) return null;
  const rival = searchLevel(y, refined.frequency, folder);
  const noSlope = rival.score < MIN_GAIN_OF_SLOPE * refined.score;
  const fitted = noSlope ? rival.frequency : refined.frequency;
  const frequency = wholePeriod(flat, refined, folder) ?? fitted;
  const folded = folder.fold(frequency);
  let shape = template(noSlope ? y : flat.map((value, i) => value - refined.slope * i), folded);
  for (let round = 0; round < 2; round++) {
    const trend = slowTrend(y.map((value, i) => value - shape[i]!));
    shape = template(
      y.map((value, i) => value - trend[i]!),
      folded,
    );
  }
  const lowest = Math.min(...shape);
  const lowerEnvelope = y.map((value, i) => value - shape[i]! + lowest);
  const trend = slowTrend(lowerEnvelope);
  const left = lowerEnvelope.map((value, i) => value - trend[i]!);
  if (!(meanSize(left) <= MAX_RESIDUAL * before)) return null;
  const { slope } = fitSpaced(shape);
  const swing = Math.max(...shape) - lowest;
  if (Math.abs(slope * n) > MAX_SLOPE * swing) return null;
  const cycles = Math.floor(n * frequency);
  const segments = Math.min(TREND_PARTS, cycles);
  if (!repeatsThroughout(left, shape, segments) || !fallsThroughout(y, swing, segments)) return null;
  return { period: 1 / frequency, lowerEnvelope, swing, periodError: swing * largestGap(n, frequency), certain: false };
}

/**
 * A frequency near the one found at which the cycle repeats after a whole number of samples, a few of which are one
 * point; null where the string there is much longer.
 */
function wholePeriod(flat: Float64Array, { frequency, score }: CycleFit, folder: PhaseFolder): number | null {
  for (let turns = 1; turns <= MAX_TURNS; turns++) {
    const points = Math.round(turns / frequency);
    if (points * MIN_REPEATS > flat.length) return null;
    const whole = turns / points;
    const beats = flat.length * turns * Math.abs(frequency / whole - 1);
    if (beats >= MAX_WHOLE_BEATS) continue;
    if (detrendedStringLength(flat, folder.fold(whole)).score < MAX_WHOLE_RATIO * score) return whole;
  }
  return null;
}

/** The frequency near the given one with the shortest string length without a slope. */
function searchLevel(y: Float64Array, near: number, folder: PhaseFolder): CycleFit {
  const n = y.length;
  let best: CycleFit = { frequency: near, score: Number.POSITIVE_INFINITY, slope: 0 };
  const steps = Math.round(RIVAL_REACH * 48);
  for (let k = -steps; k <= steps; k++) {
    const frequency = near + k / (48 * n);
    if (!(frequency > 0) || beatsSlowly(frequency, n)) continue;
    const score = stringLength(y, folder.fold(frequency));
    if (score < best.score) best = { frequency, score, slope: 0 };
  }
  return best;
}

/** Largest part of a cycle into which no point falls. */
function largestGap(n: number, frequency: number): number {
  const phases = Float64Array.from({ length: n }, (_, i) => (i * frequency) % 1).sort();
  let gap = phases[0]! + 1 - phases[n - 1]!;
  for (let i = 1; i < n; i++) gap = Math.max(gap, phases[i]! - phases[i - 1]!);
  return gap;
}

/** Whether the series falls nearly everywhere. Jumps minus a line look like a saw-tooth, but never fall. */
function fallsThroughout(y: Float64Array, swing: number, segments: number): boolean {
  const n = y.length;
  let falling = 0;
  for (let k = 0; k < segments; k++) {
    let peak = Number.NEGATIVE_INFINITY;
    let fall = 0;
    const end = Math.min(n, Math.floor(((k + 1) * n) / segments) + 1);
    for (let i = Math.max(0, Math.floor((k * n) / segments) - 1); i < end; i++) {
      peak = Math.max(peak, y[i]!);
      fall = Math.max(fall, peak - y[i]!);
    }
    if (fall >= MIN_FALL * swing) falling++;
  }
  return falling >= MIN_SEGMENTS_SHARE * segments;
}

/** Whether the cycle explains most of the movement nearly everywhere: a single event, like a jump, is not a cycle. */
function repeatsThroughout(left: Float64Array, shape: Float64Array, segments: number): boolean {
  const n = left.length;
  const centre = median(shape);
  let explained = 0;
  for (let k = 0; k < segments; k++) {
    let without = 0;
    let withCycle = 0;
    for (let i = Math.floor((k * n) / segments); i < Math.floor(((k + 1) * n) / segments); i++) {
      without += Math.abs(left[i]! + shape[i]! - centre);
      withCycle += Math.abs(left[i]!);
    }
    if (withCycle <= MAX_SEGMENT_RESIDUAL * without) explained++;
  }
  return explained >= MIN_SEGMENTS_SHARE * segments;
}
