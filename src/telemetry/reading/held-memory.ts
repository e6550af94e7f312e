import { firstAfter } from "../recording/common-clock.ts";
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
  /** Of `host`: shared memory, each page once; NaN where unknown. */
  readonly shared: Float64Array;
  /** Whether the two differ anywhere by more than the kernel's counters do. */
  readonly isCorrected: boolean;
}

/** A reading of all processes, as what is to be added to the sum of their anonymous memory; usually negative. */
interface Correction {
  readonly timeNs: number;
  /** Swap, huge pages and files that no process maps included. */
  readonly bytes: number;
  /** The anonymous memory that it was read beside. */
  readonly anon: number;
  /** Of the shared memory beyond that of the process that has most, the part that no other has, 0 to 1. */
  readonly part: number;
}

/** `statm` counts in batches by CPU: up to this share of the sum it may differ from the pages that a reading counts. */
const COUNTER_ERROR = 0.005;
/** A sum that moves by more beside a reading, and by half of what the reading would add, is not comparable to it. */
const MOVED_SHARE = 0.02;
const MOVED_FACTOR = 2;
/** Shared memory of a process is read this often. */
const SHMEM_PERIOD_NS = 100e6;
/** A smaller share of shared memory beyond that of one process does not show how much of it is shared. */
const MIN_BEYOND = 1 / 64;
/** A reading's duration where its record does not have one: 11 ms a GiB of five. */
const UNKNOWN_DURATION_NS = 50e6;

/** Anonymous + shared-memory bytes summed over the processes at tick `i`; NaN when the anonymous part is unknown. */
function summedAt(tree: TreeColumns, i: number): number {
  const anon = tree.anon[i] ?? Number.NaN;
  const shmem = tree.shmem[i] ?? Number.NaN;
  // Without a `status` sample only the anonymous part is known.
  return !Number.isNaN(shmem) ? anon + shmem : anon;
}

/**
 * Anonymous memory without what forked processes still have from their parents: such a page is one page until either
 * writes to it. From the first reading of the process on, which is when the sum has it, as long as its anonymous
 * memory does not fall (`exec`).
 */
function withoutCopies({ timeNs, anon }: TreeColumns, processes: readonly ProcessRecord[]): Float64Array {
  const own = Float64Array.from(anon);
  for (const { inherited, exitNs } of processes) {
    for (const [index, { timeNs: from, bytes }] of inherited.entries()) {
      const to = inherited[index + 1]?.timeNs ?? exitNs ?? Number.POSITIVE_INFINITY;
      for (let i = firstAfter(timeNs, from - 1); i < own.length && timeNs[i]! < to; i++) own[i]! -= bytes;
    }
  }
  return own;
}

/** The part of shared memory that {@link Correction} describes; NaN where it does not show. */
function ownPart({ timeNs, shmem, shmemMost }: TreeColumns, atNs: number, mapped: number): number {
  const ticks = [atNs, atNs + SHMEM_PERIOD_NS].map((at) => Math.max(0, firstAfter(timeNs, at) - 1));
  const mean = (column: Float64Array) => ticks.reduce((sum, tick) => sum + (column[tick]! || 0), 0) / ticks.length;
  const [sum, most] = [mean(shmem), mean(shmemMost)];
  return sum - most > MIN_BEYOND * sum ? Math.min(1, Math.max(0, (mapped - most) / (sum - most))) : Number.NaN;
}

/**
 * What each reading adds: nothing where it lies within what the memory passed while it was made. One beside which the
 * sum moved about as much as it would add, as when a process frees its memory to end, shows nothing.
 */
function corrections(own: Float64Array, tree: TreeColumns, shared: SharedColumns): readonly Correction[] {
  const { timeNs } = tree;
  const found: Correction[] = [];
  for (const [i, beganNs] of shared.timeNs.entries()) {
    const mapped = shared.mapped[i]!;
    const once = shared.once[i]! - mapped;
    if (Number.isNaN(once)) continue;
    // Memory of files in RAM that no process maps, where a control group of the job's own counts it.
    const files = Math.max(0, shared.charged[i]! - mapped) || 0;
    const tookNs = shared.tookNs[i]!;
    const first = Math.max(0, firstAfter(timeNs, beganNs) - 1);
    const until = beganNs + (Number.isNaN(tookNs) ? UNKNOWN_DURATION_NS : tookNs);
    const last = Math.min(timeNs.length - 1, firstAfter(timeNs, until));
    let least = Number.POSITIVE_INFINITY;
    let most = Number.NEGATIVE_INFINITY;
    for (let tick = first; tick <= last; tick++) {
      // At other ticks the sum is that of another tree.
      if (tree.processes[tick] !== shared.read[i]) continue;
      const now = own[tick]!;
      if (now < least) least = now;
      if (now > most) most = now;
    }
    if (least > most) continue;
    const anon = Math.min(Math.max(once, least), most);
    const part = ownPart(tree, beganNs, mapped);
    // With a process that has ended by then.
    const movedBytes = most - (tree.processes[last]! < shared.read[i]! ? Math.min(least, own[last]!) : least);
    const isMoving = movedBytes > MOVED_SHARE * most && Math.abs(once - anon) < MOVED_FACTOR * movedBytes;
    if (once === anon || !isMoving) found.push({ timeNs: beganNs, bytes: once - anon + files, anon, part });
  }
  // Where it does not show, as in the reading before, and before the first as in that one.
  let part = found.find((one) => !Number.isNaN(one.part))?.part ?? 1;
  return found.map((one) => {
    part = Number.isNaN(one.part) ? part : one.part;
    return { ...one, part };
  });
}

/** The ends of processes between two readings; where there is none, what is shared is taken to move evenly. */
interface Ends {
  readonly first: number;
  readonly last: number;
}

function endsWithin(exits: Float64Array, after: number, until: number): Ends | null {
  const first = firstAfter(exits, after);
  const last = firstAfter(exits, until) - 1;
  return last < first ? null : { first: exits[first]!, last: exits[last]! };
}

const weighted = (before: number, after: number, weight: number): number => before + weight * (after - before);

/** The correction between two readings: that of the one before an end of a process, of the other after it. */
function between(before: Correction, after: Correction, ends: Ends | null, timeNs: number): number {
  if (ends === null) {
    return weighted(before.bytes, after.bytes, (timeNs - before.timeNs) / (after.timeNs - before.timeNs));
  }
  if (timeNs < ends.first) return before.bytes;
  return timeNs >= ends.last ? after.bytes : Math.min(before.bytes, after.bytes);
}

/** What the tree holds at each tick of `tree`, which may be a part of the file's, by these readings. */
export function heldMemory(file: RecordFile, tree: TreeColumns, shared = file.shared): HeldMemory {
  const { timeNs, shmem, shmemMost } = tree;
  const sum = Float64Array.from(timeNs, (_, i) => summedAt(tree, i));
  const own = withoutCopies(tree, file.processes.all);
  const found = corrections(own, tree, shared);
  if (found.length === 0) return { host: sum, sum, shared: shmem, isCorrected: false };
  const exits = Float64Array.from(file.processes.all.flatMap(({ exitNs }) => exitNs ?? [])).sort();
  const host = new Float64Array(sum.length);
  const once = new Float64Array(sum.length);
  let isCorrected = false;
  let next = 0;
  let ends: Ends | null = null;
  for (let i = 0; i < sum.length; i++) {
    const at = timeNs[i]!;
    const passed = next;
    while (next < found.length && found[next]!.timeNs <= at) next++;
    const before = found[next - 1] ?? found[0]!;
    const after = next > 0 ? found[next] : undefined;
    if (next !== passed) ends = after ? endsWithin(exits, before.timeNs, after.timeNs) : null;
    let { bytes, part } = before;
    if (after !== undefined) {
      bytes = between(before, after, ends, at);
      part = weighted(part, after.part, (at - before.timeNs) / (after.timeNs - before.timeNs));
    } else if (next > 0 && bytes < 0 && own[i]! < before.anon) {
      // After the last reading a fall takes its part of what was counted twice. Swap and files stay.
      bytes *= own[i]! / before.anon;
    }
    const most = Math.min(shmemMost[i]! || 0, shmem[i]! || 0);
    const mapped = most + part * ((shmem[i]! || 0) - most);
    host[i] = Math.max(0, Math.round(own[i]! + bytes + mapped));
    once[i] = Math.round(mapped);
    if (Math.abs(host[i]! - sum[i]!) > COUNTER_ERROR * sum[i]!) isCorrected = true;
  }
  return { host, sum, shared: once, isCorrected };
}
