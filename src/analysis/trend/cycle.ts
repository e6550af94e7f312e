import { fitLine } from "../../stats/fit.ts";
import { mean, median, medianInPlace } from "../../stats/order-statistics.ts";

/** A repetition of any shape whose period need not be a whole number of points, and the series without it. */
export interface Cycle {
  /** In points. */
  readonly period: number;
  /** The series minus what repeats: its floor below the cycle, in the unit of the series. */
  readonly floor: Float64Array;
  /** Lowest to highest of what repeats. */
  readonly swing: number;
  /** Growth that the choice of the period may have made up: the part of the swing between neighbouring phases that were seen. */
  readonly doubt: number;
}

/** At least this many cycles, or a slow drift would pass for one. */
const MIN_CYCLES = 4;
/** Points the search looks at at once: longer series are searched thinned (slow cycles) and in their last part (fast ones). */
const WINDOW = 240;
/** Folded at the right period, neighbours in phase must be this much more alike than any two points. */
const ALIKE = 0.6;
/** ... and what the cycle leaves must be this much smaller than what there was. */
const EXPLAINED = 0.5;
/** The same within one stretch, and in how many of them. */
const EXPLAINED_THERE = 0.7;
const NEARLY_EVERYWHERE = 0.75;
/** How much of the cycle's swing the series falls by, where growth between its teeth takes a part of it. */
const FALL_SHARE = 0.3;
/** Beats per series that are none, and too few to trust; for periods near as many points. */
const NO_BEAT = 0.15;
const MIN_BEATS = 3.8;
const MAX_BEAT = 12;
/** A cycle has no slope of its own: from end to end at most this share of its swing. */
const MAX_SLOPE = 0.3;
/**
 * A cycle with a slope must fold so many times finer than the same series without one. Close to a whole number of points a
 * saw-tooth is looked at in nearly the same few phases each time; a slightly wrong period then passes off a part of its swing as growth.
 */
const FINER_WITH_SLOPE = 1.6;
/** How far the period without a slope may be from the one with, in cycles over the series. */
const RIVAL_REACH = 0.3;
const TREND_PARTS = 8;

/** A fixed order that puts points far apart in time next to each other: within a phase, time must not look like likeness. */
function scattered(n: number): Uint32Array {
  let stride = Math.max(1, Math.round(n * 0.618));
  while (n > 1 && gcd(stride, n) !== 1) stride++;
  return Uint32Array.from({ length: n }, (_, i) => (i * stride) % n);
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/** Puts points in the order of their phase, in place. */
class Directory {
  readonly #n: number;
  readonly #order: Uint32Array;
  readonly #buckets: number;
  readonly #start: Uint32Array;
  readonly #bucketOf: Uint32Array;
  readonly folded: Uint32Array;

  constructor(n: number) {
    this.#n = n;
    this.#order = scattered(n);
    this.#buckets = Math.max(8, n >> 2);
    this.#start = new Uint32Array(this.#buckets + 1);
    this.#bucketOf = new Uint32Array(n);
    this.folded = new Uint32Array(n);
  }

  fold(frequency: number): Uint32Array {
    const start = this.#start.fill(0);
    const bucketOf = this.#bucketOf;
    for (let i = 0; i < this.#n; i++) {
      const turns = i * frequency;
      const bucket = Math.min(this.#buckets - 1, Math.floor((turns - Math.floor(turns)) * this.#buckets));
      bucketOf[i] = bucket;
      start[bucket + 1]!++;
    }
    for (let b = 0; b < this.#buckets; b++) start[b + 1]! += start[b]!;
    for (const i of this.#order) this.folded[start[bucketOf[i]!]!++] = i;
    return this.folded;
  }
}

/** Mean absolute difference of neighbours in phase. */
function unlikeness(values: Float64Array, folded: Uint32Array): number {
  let sum = 0;
  let previous = values[folded[folded.length - 1]!]!;
  for (let k = 0; k < folded.length; k++) {
    const value = values[folded[k]!]!;
    sum += Math.abs(value - previous);
    previous = value;
  }
  return sum / values.length;
}

/**
 * The same after taking off the straight line on which neighbours in phase agree best (the median of their slopes). A saw-tooth
 * of few teeth tilts every line fitted to the series as a whole.
 */
function levelUnlikeness(values: Float64Array, folded: Uint32Array): { score: number; slope: number } {
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
 * Just beside a period of q points, every q-th point moves on slowly in phase, and neighbours in phase are neighbours in time
 * as well: any slow curve would look like a cycle that beats once or twice.
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

interface Found {
  readonly frequency: number;
  readonly score: number;
  /** Of the straight line that was taken off. */
  readonly slope: number;
}

/** Best frequency between two, cycles per point, each with the straight line taken off that suits it best. */
function search(values: Float64Array, from: number, to: number, step: number, directory: Directory): Found {
  let best: Found = { frequency: 0, score: Number.POSITIVE_INFINITY, slope: 0 };
  for (let frequency = from; frequency <= to; frequency += step) {
    if (beatsSlowly(frequency, values.length)) continue;
    const { score, slope } = levelUnlikeness(values, directory.fold(frequency));
    if (score < best.score) best = { frequency, score, slope };
  }
  return best;
}

/** Frequencies that a window of some length is searched at, and its points in the order of their phase at each. */
interface Grid {
  readonly frequencies: readonly number[];
  readonly folded: readonly Uint32Array[];
}

/**
 * The order of the points depends on nothing but the window's length, and putting them into it takes most of the time: it is done once for
 * the lengths that come again and again.
 */
const grids = new Map<number, Grid>();
const MAX_GRIDS = 4;

function gridOf(n: number): Grid {
  const known = grids.get(n);
  if (known !== undefined) return known;
  const directory = new Directory(n);
  const frequencies: number[] = [];
  const folded: Uint32Array[] = [];
  const step = 1 / (5 * n);
  for (let frequency = MIN_CYCLES / n; frequency <= 0.5; frequency += step) {
    if (beatsSlowly(frequency, n)) continue;
    frequencies.push(frequency);
    folded.push(directory.fold(frequency).slice());
  }
  const [oldest] = grids.keys();
  if (grids.size >= MAX_GRIDS && oldest !== undefined) grids.delete(oldest);
  const grid = { frequencies, folded };
  grids.set(n, grid);
  return grid;
}

/** Best of all frequencies of a window, without a slope. */
function searchWindow(values: Float64Array): Pick<Found, "frequency" | "score"> {
  const { frequencies, folded } = gridOf(values.length);
  let best = { frequency: 0, score: Number.POSITIVE_INFINITY };
  for (let k = 0; k < frequencies.length; k++) {
    const score = unlikeness(values, folded[k]!);
    if (score < best.score) best = { frequency: frequencies[k]!, score };
  }
  return best;
}

/** Values minus the straight line through them. */
function detrended(y: Float64Array): Float64Array {
  const index = Float64Array.from({ length: y.length }, (_, i) => i);
  const { slope, intercept } = fitLine(index, y);
  return y.map((value, i) => value - intercept - slope * i);
}

/** The median of a few parts, joined by straight lines: follows jumps and late growth, and is not moved by a cycle's edge. */
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

/** What repeats: for each point the median of its neighbours in phase, which keeps sharp edges. */
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

/** Mean absolute difference of any two points, nearly: of each and one far away in time. */
function ordinary(values: Float64Array): number {
  return unlikeness(values, scattered(values.length));
}

/**
 * Find what repeats and take it off, whatever its shape and period: points are folded onto one cycle, and the period at which
 * neighbours in phase are most alike (Lafler and Kinman's string length, on absolute differences) is the period.
 * @param least mean deviation from a smooth curve below which a cycle is not worth looking for, in the unit of the series
 * @returns null when nothing repeats clearly
 */
export function findCycle(y: Float64Array, least = 0): Cycle | null {
  const n = y.length;
  if (n < 6 * MIN_CYCLES) return null;
  const flat = detrended(y);
  const rough = slowTrend(y);
  // A slow wander must not pass for a slow cycle: what is left is compared with what a smooth curve leaves, too.
  const before = Math.min(meanSize(flat), meanSize(y.map((value, i) => value - rough[i]!)));
  if (!(before > least)) return null;
  const thin = Math.ceil(n / WINDOW);
  const coarse = thin === 1 ? flat : flat.filter((_, i) => i % thin === 0);
  const slow = searchWindow(coarse);
  const found = [{ frequency: slow.frequency / thin, score: slow.score / ordinary(coarse) }];
  if (thin > 1) {
    const last = flat.subarray(n - WINDOW);
    const fast = searchWindow(last);
    found.push({ frequency: fast.frequency, score: fast.score / ordinary(last) });
  }
  const best = found.reduce((a, b) => (b.score < a.score ? b : a));
  if (!(best.score < ALIKE)) return null;
  const directory = new Directory(n);
  const near = (frequency: number, width: number, step: number): Found =>
    search(flat, Math.max(MIN_CYCLES / n, frequency - width), frequency + width, step, directory);
  const sharpened = (frequency: number, width: number): Found => {
    const rough = near(frequency, width, 1 / (12 * n));
    const fine = near(rough.frequency, 1 / (12 * n), 1 / (48 * n));
    return fine.score < rough.score ? fine : rough;
  };
  // The tilt that a saw-tooth gives to a line moves the coarse optimum by up to two of its steps.
  let refined = sharpened(best.frequency, 2 / (5 * Math.min(n, WINDOW)));
  // Several periods in a row repeat as well, but fold less finely.
  for (const times of [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]) {
    const turns = times * refined.frequency;
    const other = Math.abs(turns - Math.round(turns));
    if (other < MIN_CYCLES / n) continue;
    const shorter = sharpened(other, 1 / (32 * Math.min(n, WINDOW)));
    if (shorter.score < refined.score) refined = shorter;
  }
  if (!(refined.frequency > 0)) return null;
  const rival = level(y, refined.frequency, directory);
  const noSlope = rival.score < FINER_WITH_SLOPE * refined.score;
  const frequency = noSlope ? rival.frequency : refined.frequency;
  const folded = directory.fold(frequency);
  let shape = template(noSlope ? y : flat.map((value, i) => value - refined.slope * i), folded);
  for (let round = 0; round < 2; round++) {
    const trend = slowTrend(y.map((value, i) => value - shape[i]!));
    shape = template(
      y.map((value, i) => value - trend[i]!),
      folded,
    );
  }
  const lowest = Math.min(...shape);
  const floor = y.map((value, i) => value - shape[i]! + lowest);
  const trend = slowTrend(floor);
  const left = floor.map((value, i) => value - trend[i]!);
  if (!(meanSize(left) <= EXPLAINED * before)) return null;
  const { slope } = fitLine(
    Float64Array.from({ length: n }, (_, i) => i),
    shape,
  );
  const swing = Math.max(...shape) - lowest;
  if (Math.abs(slope * n) > MAX_SLOPE * swing) return null;
  const cycles = Math.floor(n * frequency);
  const segments = Math.min(TREND_PARTS, cycles);
  if (!repeatsThroughout(left, shape, segments) || !fallsThroughout(y, swing, segments)) return null;
  return { period: 1 / frequency, floor, swing, doubt: swing * largestGap(n, frequency) };
}

/** The period near the given one at which the series as it is, with no line taken off, folds most finely. */
function level(y: Float64Array, near: number, directory: Directory): Found {
  const n = y.length;
  let best: Found = { frequency: near, score: Number.POSITIVE_INFINITY, slope: 0 };
  const steps = Math.round(RIVAL_REACH * 48);
  for (let k = -steps; k <= steps; k++) {
    const frequency = near + k / (48 * n);
    if (!(frequency > 0)) continue;
    const score = unlikeness(y, directory.fold(frequency));
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

/** What repeats must come back down, nearly everywhere: jumps in a row look like a saw-tooth only once a line is taken off. */
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
    if (fall >= FALL_SHARE * swing) falling++;
  }
  return falling >= NEARLY_EVERYWHERE * segments;
}

/** The cycle must explain most of the movement nearly everywhere: what happens once, like a jump, is none. */
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
    if (withCycle <= EXPLAINED_THERE * without) explained++;
  }
  return explained >= NEARLY_EVERYWHERE * segments;
}
