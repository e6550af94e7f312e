/**
 * Clocks of several recordings of one job on one time axis. Two ways exist and neither is always right: first samples coincide
 * (Stormlog's way; it needs no clock that is set, but takes a rank that started later for one whose clock is ahead), or the wall
 * clocks are believed (exact within one machine and between machines that keep time; useless where one does not). Ranks of a job
 * that train together end their steps together: whichever way puts those moments closer to each other is taken, rank by rank.
 */

/** When one rank came to some of its steps: few of them, the same for every rank whatever its length. */
export interface StepTimes {
  /** Every how many steps one is kept; a power of two, so that two ranks always have some in common. */
  readonly stride: number;
  readonly steps: readonly number[];
  /** Unix nanoseconds. */
  readonly atNs: readonly bigint[];
}

const MAX_MOMENTS = 64;
/** Fewer steps in common than this say nothing about two clocks. */
const MIN_COMMON = 3;

/**
 * @param steps one for every row, NaN where there is none
 * @param ends rows taken at the end of a step (1), where the source has such; else the first row of a step counts
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

/** How the clocks of a job's ranks were put on one axis. */
export interface ClockAlignment {
  readonly used: "first-samples" | "wall-clock" | "both";
  /** What each rank's clock is moved back by, nanoseconds. */
  readonly offsets: ReadonlyMap<number, bigint>;
  /** Ranks that stand on the wall clock. */
  readonly wallClockRanks: readonly number[];
  /** Middle distance between the same step of two ranks, nanoseconds, each way; null where steps could not be compared. */
  readonly firstSampleErrorNs: number | null;
  readonly wallClockErrorNs: number | null;
}

function middle(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}

/** Middle distance between steps that both ranks came to, with the second clock moved back by `offset`; null = too few. */
function distance(reference: ReadonlyMap<number, bigint>, moments: StepTimes, offset: bigint): number | null {
  const distances: number[] = [];
  for (const [i, step] of moments.steps.entries()) {
    const at = reference.get(step);
    if (at !== undefined) distances.push(Math.abs(Number((moments.atNs[i] ?? 0n) - offset - at)));
  }
  return distances.length < MIN_COMMON ? null : middle(distances);
}

/**
 * Put the ranks' clocks on that of rank 0, or of the lowest rank. Without a wall clock, or steps to compare by, first samples
 * coincide. Only whole clocks are moved: no sample changes its place among those of its rank.
 */
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
