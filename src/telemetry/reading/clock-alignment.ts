/**
 * Clocks of several recordings of one job on one time axis, by one of two methods. First samples coincide (as in
 * Stormlog: needs no synchronised clock, but misplaces a rank that started later), or wall clocks are used. Ranks that
 * train together end their steps together: the method that brings those times closer is chosen, rank by rank.
 */

/** Times of some of a rank's steps: few of them, the same for every rank of any length. */
export interface StepTimes {
  /** Distance of the kept steps: a power of two, so that two ranks always have common ones. */
  readonly stride: number;
  readonly steps: readonly number[];
  /** Unix nanoseconds. */
  readonly atNs: readonly bigint[];
}

const MAX_MOMENTS = 64;
/** With fewer common steps two clocks cannot be compared. */
const MIN_COMMON = 3;

/**
 * @param steps one per row, NaN without a step
 * @param ends 1 for rows at the end of a step, if the source has such rows; else the first row of a step is used
 */
export function stepTimes(
  epochNs: bigint,
  timeNs: Float64Array,
  steps: Float64Array,
  ends: Uint8Array | null,
): StepTimes | null {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i]!;
    if (step < least) least = step;
    if (step > most) most = step;
  }
  if (!(most >= least) || !Number.isSafeInteger(least) || !Number.isSafeInteger(most)) return null;
  let stride = 1;
  while ((most - least + 1) / stride > MAX_MOMENTS) stride *= 2;
  const moments = new Map<number, bigint>();
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i]!;
    if (step % stride !== 0 || (ends !== null && ends[i] !== 1) || moments.has(step)) continue;
    const at = timeNs[i]!;
    if (Number.isFinite(at)) moments.set(step, epochNs + BigInt(Math.round(at)));
  }
  return moments.size === 0 ? null : { stride, steps: [...moments.keys()], atNs: [...moments.values()] };
}

export interface RankClock {
  readonly rank: number;
  /** Unix nanoseconds of the first sample. */
  readonly firstNs: bigint;
  readonly moments: StepTimes | null;
}

/** How the clocks of a job's ranks were aligned. */
export interface ClockAlignment {
  readonly used: "first-samples" | "wall-clock" | "both";
  /** Offset that is subtracted from each rank's clock, nanoseconds. */
  readonly offsets: ReadonlyMap<number, bigint>;
  /** Ranks on the wall clock. */
  readonly wallClockRanks: readonly number[];
  /** Median distance between a step of two ranks, nanoseconds, by method; null where not comparable. */
  readonly firstSampleErrorNs: number | null;
  readonly wallClockErrorNs: number | null;
}

function middle(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}

/** Median distance between common steps, with `offset` subtracted from the second clock; null = too few. */
function distance(reference: ReadonlyMap<number, bigint>, moments: StepTimes, offset: bigint): number | null {
  const distances: number[] = [];
  for (const [i, step] of moments.steps.entries()) {
    const at = reference.get(step);
    if (at !== undefined) distances.push(Math.abs(Number((moments.atNs[i] ?? 0n) - offset - at)));
  }
  return distances.length < MIN_COMMON ? null : middle(distances);
}

/** Aligns whole clocks with the lowest rank's. Without a wall clock or common steps, first samples coincide. */
export function alignClocks(clocks: readonly RankClock[]): ClockAlignment {
  const sorted = [...clocks].sort((a, b) => a.rank - b.rank);
  const [reference] = sorted;
  const offsets = new Map<number, bigint>();
  const wallClockRanks: number[] = [];
  const errors = { first: [] as number[], wall: [] as number[] };
  const known = new Map(reference?.moments?.steps.map((step, i) => [step, reference.moments?.atNs[i] ?? 0n]));
  for (const { rank, firstNs, moments } of sorted) {
    const offset = firstNs - (reference?.firstNs ?? firstNs);
    const first = moments === null || rank === reference?.rank ? null : distance(known, moments, offset);
    const wall = moments === null || rank === reference?.rank ? null : distance(known, moments, 0n);
    if (first !== null) errors.first.push(first);
    if (wall !== null) errors.wall.push(wall);
    const byWall = first !== null && wall !== null && wall < first;
    if (byWall) wallClockRanks.push(rank);
    offsets.set(rank, byWall ? 0n : offset);
  }
  const others = sorted.length - 1;
  return {
    used: wallClockRanks.length === 0 ? "first-samples" : wallClockRanks.length === others ? "wall-clock" : "both",
    offsets,
    wallClockRanks,
    firstSampleErrorNs: errors.first.length === 0 ? null : middle(errors.first),
    wallClockErrorNs: errors.wall.length === 0 ? null : middle(errors.wall),
  };
}
