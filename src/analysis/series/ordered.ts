import type { MetricSeries } from "./series.ts";
import { withoutStalls } from "./stalls.ts";

/** Usable samples of one series, ascending along their axis. */
export interface OrderedSeries {
  /** "step" where the source counts steps, "time" (nanoseconds) with a clock only, "index" with neither. */
  readonly axis: "step" | "time" | "index";
  readonly x: Float64Array;
  readonly bytes: Float64Array;
  readonly thinned: boolean;
  /** Seconds between the first and the last usable sample; null without a clock. */
  readonly durationS: number | null;
  /** Distinct steps; null when the source has none. */
  readonly steps: number | null;
  /** Last step minus first; null when the source has none. */
  readonly stepSpan: number | null;
}

const finite = (value: number): boolean => value - value === 0;

interface Range {
  readonly min: number;
  readonly max: number;
  readonly ascending: boolean;
  readonly distinct: number;
  readonly count: number;
}

/** Extent of an axis over the rows with a usable value. `distinct` counts changes, exact when ascending. */
function range(axis: Float64Array, bytes: Float64Array): Range {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  let previous = Number.NEGATIVE_INFINITY;
  let ascending = true;
  let distinct = 0;
  let count = 0;
  for (let i = 0; i < axis.length; i++) {
    const at = axis[i]!;
    if (!finite(at) || !finite(bytes[i]!)) continue;
    count++;
    if (at < previous) ascending = false;
    if (at !== previous) distinct++;
    previous = at;
    if (at < min) min = at;
    if (at > max) max = at;
  }
  return { min, max, ascending, distinct, count };
}

/** Extents of axes over all their rows. The metrics of a table share its axes, and most of them have every value. */
const extents = new WeakMap<Float64Array, Range>();

function sharedRange(axis: Float64Array, bytes: Float64Array, complete: boolean): Range {
  if (!complete || axis.length !== bytes.length) return range(axis, bytes);
  const known = extents.get(axis) ?? range(axis, bytes);
  extents.set(axis, known);
  return known;
}

const countUsable = (bytes: Float64Array, from = 0): number => {
  let count = 0;
  for (let i = from; i < bytes.length; i++) if (finite(bytes[i]!)) count++;
  return count;
};

/** Index of the first row with a step. */
function firstStepped(steps: Float64Array, bytes: Float64Array): number {
  let i = 0;
  while (i < steps.length && !(finite(steps[i]!) && finite(bytes[i]!))) i++;
  return i;
}

/** Whether the first and the last value have a position. */
function hasEnds(axis: Float64Array, bytes: Float64Array): boolean {
  const first = bytes.findIndex(finite);
  const last = bytes.findLastIndex(finite);
  return first >= 0 && finite(axis[first]!) && finite(axis[last]!);
}

/** With fewer steps a drift per step is meaningless, and the clock, if there is one, is the axis. */
const MIN_STEPS = 24;

/** Rows in random order run backwards half of the time. A counter that restarts each epoch does so seldom. */
const SELDOM = 1 / 8;
/** ... and repeats the same steps, which shards in the wrong order do not. */
const REPEATED = 0.75;

/** Whether steps that run backwards come from a counter that restarts, judged without a clock. */
function restartsInPlace(steps: Float64Array, bytes: Float64Array): boolean {
  const usable = steps.filter((at, i) => finite(at) && finite(bytes[i]!));
  let descents = 0;
  let runs = 1;
  for (let i = 1; i < usable.length; i++) {
    if (usable[i]! < usable[i - 1]!) descents++;
    if (usable[i] !== usable[i - 1]) runs++;
  }
  if (descents === 0 || descents > SELDOM * usable.length) return false;
  usable.sort();
  let distinct = 1;
  for (let i = 1; i < usable.length; i++) if (usable[i] !== usable[i - 1]) distinct++;
  return distinct < REPEATED * runs;
}

/** Steps that fit into a time, the last one included: as long as those between the begins of the first and the last. */
function stepsWithin(
  spanNs: number,
  steps: Float64Array,
  timeNs: Float64Array,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  let [first, last] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let i = 0; i < steps.length; i++) {
    if (!finite(timeNs[i]!)) continue;
    if (steps[i] === min) first = Math.min(first, timeNs[i]!);
    else if (steps[i] === max) last = Math.min(last, timeNs[i]!);
  }
  return last > first && finite(last) ? ((max - min) * spanNs) / (last - first) : max - min;
}

/**
 * Drops missing values, chooses the axis and sorts the samples along it. Steps are preferred, unless they are too few
 * or restart (run backwards while the clock runs forwards, or without a clock run backwards seldom and repeat). Rows
 * that are already in order, the usual case, are not copied.
 */
export function orderSeries(series: MetricSeries): OrderedSeries {
  const { bytes, timeNs, steps, thinned } = series;
  const usable = countUsable(bytes);
  const complete = usable === bytes.length;
  const time = timeNs ? sharedRange(timeNs, bytes, complete) : null;
  const step = steps ? sharedRange(steps, bytes, complete) : null;
  const hasTime = time !== null && time.count >= 2 && time.max > time.min && 2 * time.count >= usable;
  const restarts =
    step !== null && !step.ascending && (hasTime ? time.ascending : restartsInPlace(steps ?? bytes, bytes));
  // Samples before the first step belong to the start-up, not to the loop.
  const first = steps === null ? bytes.length : firstStepped(steps, bytes);
  const stepped = complete ? bytes.length - first : countUsable(bytes, first);
  const hasSteps = step !== null && step.max > step.min && 2 * step.count >= stepped && !restarts;
  const inOrder = time?.ascending === true && time.count === bytes.length;
  const timedS = time && time.count > 0 ? (time.max - time.min) / 1e9 : null;
  // On another axis, the time of a part of the rows is not that in which all of them grew.
  const durationS = timeNs !== null && hasEnds(timeNs, bytes) ? timedS : null;

  if (hasSteps && steps) {
    const ordered = arrange(steps, bytes, step.ascending && step.count === bytes.length);
    const distinct = step.ascending ? step.distinct : range(ordered.x, ordered.bytes).distinct;
    if (distinct >= MIN_STEPS || !hasTime) {
      return { axis: "step", ...ordered, thinned, durationS, steps: distinct, stepSpan: step.max - step.min };
    }
    if (timeNs) {
      const from = step.ascending ? first : 0;
      const byTime = withoutStalls(arrange(timeNs.subarray(from), bytes.subarray(from), inOrder));
      const [begin, end] = [byTime.x[0], byTime.x.at(-1)];
      const inLoopNs = begin === undefined || end === undefined ? null : end - begin;
      const stepSpan = inLoopNs === null ? null : stepsWithin(inLoopNs, steps, timeNs, step);
      const inLoopS = inLoopNs === null ? null : inLoopNs / 1e9;
      return { axis: "time", ...byTime, thinned, durationS: inLoopS, steps: distinct, stepSpan };
    }
  }
  if (hasTime && timeNs) {
    const whole = sinceLoop(arrange(timeNs, bytes, inOrder), series.loopFromNs);
    const byTime = thinned ? whole : withoutStalls(whole);
    const [begin, end] = [byTime.x[0], byTime.x.at(-1)];
    const spanS = begin === undefined || end === undefined ? null : (end - begin) / 1e9;
    return { axis: "time", ...byTime, thinned, durationS: spanS, steps: null, stepSpan: null };
  }
  const index = Float64Array.from({ length: bytes.length }, (_, i) => i);
  return {
    axis: "index",
    ...arrange(index, bytes, usable === bytes.length),
    thinned,
    durationS,
    steps: null,
    stepSpan: null,
  };
}

/** Rows of the loop and after it, since a reading that is seldom made may have none in a short loop. */
function sinceLoop(
  { x, bytes }: { readonly x: Float64Array; readonly bytes: Float64Array },
  beginNs = Number.NEGATIVE_INFINITY,
) {
  const from = x.findIndex((at) => at >= beginNs);
  return from < 0
    ? { x: x.subarray(x.length), bytes: bytes.subarray(bytes.length) }
    : { x: x.subarray(from), bytes: bytes.subarray(from) };
}

/** The usable samples, ascending along their axis; those that are in order and all usable as they are. */
export function arrange(
  axis: Float64Array,
  bytes: Float64Array,
  asIs: boolean,
): { x: Float64Array; bytes: Float64Array } {
  if (asIs) return { x: axis, bytes };
  let count = 0;
  for (let i = 0; i < axis.length; i++) if (finite(axis[i]!) && finite(bytes[i]!)) count++;
  const x = new Float64Array(count);
  const kept = count === bytes.length ? bytes : new Float64Array(count);
  let ascending = true;
  for (let i = 0, k = 0; i < axis.length; i++) {
    if (!finite(axis[i]!) || !finite(bytes[i]!)) continue;
    const at = axis[i]!;
    if (k > 0 && at < x[k - 1]!) ascending = false;
    x[k] = at;
    if (kept !== bytes) kept[k] = bytes[i]!;
    k++;
  }
  if (ascending) return { x, bytes: kept };
  const order = Uint32Array.from(x.keys()).sort((a, b) => x[a]! - x[b]! || a - b);
  return { x: Float64Array.from(order, (i) => x[i]!), bytes: Float64Array.from(order, (i) => kept[i]!) };
}
