import type { LevelShift } from "./level-shift.ts";

/** Share of a tooth's rise that its fall takes back at least. */
const MIN_FALL = 0.5;
/** Levels up to this share of a tooth's rise above its lowest are its beginning. */
const AT_BEGINNING = 0.25;
/** Slopes of two teeth of one program differ by this factor at most. A spike while a model is loaded is far steeper. */
const MAX_SLOPE_RATIO = 2;
/** A rise that is this many times as large as the tooth before is more than the next tooth. */
const MAX_RISE_RATIO = 3;
/** Share of the rise before a drop that is left after it at least, where the drop did not empty everything. */
const MIN_LEFT = 0.05;
/** The same as `MAX_RISE_RATIO`, where a tooth is called no growth at all. */
const MAX_NEXT_TOOTH = 1.5;

/**
 * Whether the rise from the block `cut` on may be the next tooth of one before: memory rose as fast, and fell back. Two
 * or three large cycles and a leak look alike, as four to seven do (`few-cycles.ts`), so growth is at most `rising`.
 * @param y levels of equal blocks
 */
export function followsTooth(y: Float64Array, cut: number): boolean {
  const last = y.length - 1;
  let peak = 0;
  let fallen: { readonly peak: number; readonly bytes: number } | null = null;
  for (let i = 1; i <= Math.min(cut + 1, last); i++) {
    if (y[i]! > y[peak]!) peak = i;
    const bytes = y[peak]! - y[i]!;
    if (fallen === null || bytes > fallen.bytes) fallen = { peak, bytes };
  }
  if (fallen === null) return false;
  let lowest = Number.POSITIVE_INFINITY;
  for (let i = 0; i < fallen.peak; i++) lowest = Math.min(lowest, y[i]!);
  const before = y[fallen.peak]! - lowest;
  let begin = fallen.peak;
  while (begin > 0 && y[begin]! > lowest + AT_BEGINNING * before) begin -= 1;
  const after = y[last]! - y[cut]!;
  if (!(before > 0 && after > 0) || fallen.bytes < MIN_FALL * before || after > MAX_RISE_RATIO * before) return false;
  const ratio = after / (last - cut) / ((y[fallen.peak]! - y[begin]!) / (fallen.peak - begin));
  return ratio < MAX_SLOPE_RATIO && ratio > 1 / MAX_SLOPE_RATIO;
}

/** Rise of the line up to its shift, of `points` in all. */
export const riseBefore = ({ at, rise }: LevelShift, points: number): number => (rise * at) / (points - 1);

/** Whether a drop may be the end of a tooth and what follows the next one: it took back all, and no more grew since. */
export function endsTooth(shift: LevelShift, points: number): boolean {
  const before = riseBefore(shift, points);
  return before + shift.bytes < MIN_LEFT * before && shift.rise - before < MAX_NEXT_TOOTH * before;
}
