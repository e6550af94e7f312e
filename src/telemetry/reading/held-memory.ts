import type { ProcessRecord } from "../recording/process-history.ts";
import type { RecordFile, SharedColumns, TreeColumns } from "../recording/record-columns.ts";

/**
 * What the tree holds, and the sum over its processes that it is made of. The sum counts a page that several processes
 * share in each of them, leaves out swap and huge pages, and is known at every tick; what is held is known where
 * `smaps_rollup` was read.
 */
export interface HeldMemory {
  /** At every tick of the tree, bytes; NaN where the sum is unknown. */
  readonly host: Float64Array;
  readonly sum: Float64Array;
  /** Whether the two differ anywhere by more than the kernel's counters do. */
  readonly isCorrected: boolean;
}

/** A reading of all processes, as what is to be added to the sum; usually negative. */
interface Correction {
  readonly timeNs: number;
  readonly bytes: number;
  /** The sum at that time, and its part of shared memory: the correction belongs to them. */
  readonly sum: number;
  readonly shmem: number;
  /** The same part with each page once; NaN where unknown. */
  readonly mapped: number;
}

/** `statm` counts in batches by CPU: up to this share of the sum it may differ from the pages that a reading counts. */
const COUNTER_ERROR = 0.005;
/** A reading's duration where its record does not have one: 11 ms a GiB of five. */
const UNKNOWN_DURATION_NS = 50e6;

/** Anonymous + shared-memory bytes summed over the processes at tick `i`; NaN when the anonymous part is unknown. */
function summedAt(tree: TreeColumns, i: number): number {
  const anon = tree.anon[i] ?? Number.NaN;
  const shmem = tree.shmem[i] ?? Number.NaN;
  // Without a `status` sample only the anonymous part is known.
  return !Number.isNaN(shmem) ? anon + shmem : anon;
}

/** Index of the last of ascending times that is not after `at`; -1 for none. */
function tickAt(timeNs: Float64Array, at: number): number {
  let from = 0;
  let to = timeNs.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (timeNs[middle]! <= at) from = middle + 1;
    else to = middle;
  }
  return from - 1;
}

/**
 * Subtracts from the sum what forked processes still have from their parents: such a page is one page until either
 * writes to it. From the first reading of the process on, as long as its anonymous memory does not fall (`exec`).
 */
function withoutCopies(sum: Float64Array, { timeNs }: TreeColumns, processes: readonly ProcessRecord[]): Float64Array {
  const own = Float64Array.from(sum);
  for (const { inherited, startNs, exitNs } of processes) {
    for (const [index, { bytes }] of inherited.entries()) {
      const from = index === 0 ? startNs : inherited[index]!.timeNs;
      const to = inherited[index + 1]?.timeNs ?? exitNs ?? Number.POSITIVE_INFINITY;
      for (let i = tickAt(timeNs, from - 1) + 1; i < own.length && timeNs[i]! < to; i++) own[i]! -= bytes;
    }
  }
  return own;
}

/** What each reading adds to the sum: nothing where it lies within what the sum passed while it was made. */
function corrections(sum: Float64Array, tree: TreeColumns, shared: SharedColumns): readonly Correction[] {
  const { timeNs } = tree;
  const found: Correction[] = [];
  for (const [i, beganNs] of shared.timeNs.entries()) {
    const once = shared.once[i]!;
    if (Number.isNaN(once)) continue;
    // Memory of files in RAM that no process maps, where a control group of the job's own counts it.
    const files = Math.max(0, shared.charged[i]! - shared.mapped[i]!) || 0;
    const tookNs = shared.tookNs[i]!;
    const first = Math.max(0, tickAt(timeNs, beganNs));
    const last = Math.min(
      timeNs.length - 1,
      tickAt(timeNs, beganNs + (Number.isNaN(tookNs) ? UNKNOWN_DURATION_NS : tookNs)) + 1,
    );
    let least = Number.POSITIVE_INFINITY;
    let most = Number.NEGATIVE_INFINITY;
    for (let tick = first; tick <= last; tick++) {
      const now = sum[tick]!;
      if (now < least) least = now;
      if (now > most) most = now;
    }
    if (least > most) continue;
    const at = Math.min(Math.max(once, least), most);
    const shmem = tree.shmem[first]!;
    found.push({ timeNs: beganNs, bytes: once - at + files, sum: at, shmem, mapped: shared.mapped[i]! });
  }
  return found;
}

/** The ends of processes between two readings; where there is none, what is shared is taken to move evenly. */
interface Ends {
  readonly first: number;
  readonly last: number;
}

function endsWithin(exits: Float64Array, after: number, until: number): Ends | null {
  const first = tickAt(exits, after) + 1;
  const last = tickAt(exits, until);
  return last < first ? null : { first: exits[first]!, last: exits[last]! };
}

/** The correction between two readings: that of the one before an end of a process, of the other after it. */
function between(before: Correction, after: Correction, ends: Ends | null, timeNs: number): number {
  if (ends === null) {
    const part = (timeNs - before.timeNs) / (after.timeNs - before.timeNs);
    return before.bytes + part * (after.bytes - before.bytes);
  }
  if (timeNs < ends.first) return before.bytes;
  return timeNs >= ends.last ? after.bytes : Math.min(before.bytes, after.bytes);
}

/**
 * Of shared memory that a process maps after the last reading, the part that no other process has: as between the last
 * two readings. All of it where there is nothing to go by.
 */
function newlyMapped(found: readonly Correction[]): number {
  const [before, last] = [found.at(-2), found.at(-1)];
  if (before === undefined || last === undefined) return 1;
  const share = (last.mapped - before.mapped) / (last.shmem - before.shmem);
  return last.shmem > before.shmem ? Math.min(1, Math.max(0, share)) : 1;
}

/** What the tree holds at each tick of `tree`, which may be a part of the file's. */
export function heldMemory(file: RecordFile, tree: TreeColumns): HeldMemory {
  const sum = Float64Array.from(tree.timeNs, (_, i) => summedAt(tree, i));
  const own = withoutCopies(sum, tree, file.processes.all);
  const found = corrections(own, tree, file.shared);
  if (found.length === 0) return { host: sum, sum, isCorrected: false };
  const exits = Float64Array.from(file.processes.all.flatMap(({ exitNs }) => exitNs ?? [])).sort();
  const host = new Float64Array(sum.length);
  let isCorrected = false;
  const twice = 1 - newlyMapped(found);
  let next = 0;
  let ends: Ends | null = null;
  for (let i = 0; i < sum.length; i++) {
    const timeNs = tree.timeNs[i]!;
    const passed = next;
    while (next < found.length && found[next]!.timeNs <= timeNs) next++;
    const [before, after] = [found[next - 1], found[next]];
    if (next !== passed) ends = before && after ? endsWithin(exits, before.timeNs, after.timeNs) : null;
    let bytes: number;
    if (before === undefined) bytes = after!.bytes;
    else if (after !== undefined) bytes = between(before, after, ends, timeNs);
    // After the last reading a fall takes its part of what was shared with it.
    else
      bytes =
        before.bytes * Math.min(1, before.sum > 0 ? own[i]! / before.sum : 1) -
        twice * (Math.max(0, tree.shmem[i]! - before.shmem) || 0);
    host[i] = Math.max(0, Math.round(own[i]! + bytes));
    if (Math.abs(host[i]! - sum[i]!) > COUNTER_ERROR * sum[i]!) isCorrected = true;
  }
  return { host, sum, isCorrected };
}
