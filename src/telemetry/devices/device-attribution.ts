import { formatBytes } from "../../core/units.ts";
import type { DeviceColumns, DeviceLists } from "../recording/record-columns.ts";
import type { DeviceAttribution, RecordedDevice } from "../recording/recorded-device.ts";

export const listsJobOnly = (recorded: Pick<RecordedDevice, "capabilities"> | null): boolean =>
  // Capability of a device whose lists contain only the job's processes: memory of other processes is unknown.
  recorded?.capabilities.includes("processes:job") ?? false;

/** Why nothing on a device belongs to the job, where process lists exist. */
export const NOT_SEEN = "no process of the job was seen on the device";

/** Memory of other processes that changes by no more than this is normal activity of drivers and desktops. */
const TENANT = { bytes: 64 * 2 ** 20, share: 0.01 } as const;

/** Minimum change of other processes' memory, on a device of this size, that is reported, bytes. */
export const tenantLimit = (totalBytes: number | null): number =>
  Math.max(TENANT.bytes, TENANT.share * (totalBytes ?? 0));

/** Owners of the entries of a device's process lists. */
export interface ListParts {
  readonly job: (pid: number, owner: number) => boolean;
  readonly other: (pid: number, owner: number) => boolean;
}

/** Summary of the process lists of one device over the run. */
export interface ListsSeen {
  /** Entries of the job's processes, and the number of those with a size. */
  readonly own: number;
  readonly ownKnown: number;
  /** Processes outside the job that existed before the command began; null when no list is that old. */
  readonly before: ReadonlySet<number> | null;
  /** Those that appeared later. */
  readonly newPids: ReadonlySet<number>;
  /** An entry of those that appeared later has a size. */
  readonly newKnown: boolean;
}

const NONE: ListsSeen = { own: 0, ownKnown: 0, before: null, newPids: new Set(), newKnown: false };

/** Calls `entry` for every entry of every list, in order of time. */
function eachEntry(lists: DeviceLists, entry: (list: number, pid: number, bytes: number, owner: number) => void): void {
  let at = 0;
  for (let list = 0; list < lists.ends.length; list++) {
    for (const end = lists.ends[list]!; at < end; at++) {
      entry(list, lists.pids[at]!, lists.bytes[at]!, lists.owners[at]!);
    }
  }
}

/** @param beganNs when the command began; null when unknown: then the first list is taken to be older. */
export function listsSeen(lists: DeviceLists | null, beganNs: number | null): ListsSeen {
  if (lists === null) return NONE;
  // The sampler reads its first list before it starts the command.
  const warm = beganNs === null || lists.timeNs[0]! <= beganNs;
  const before = new Set<number>();
  const newPids = new Set<number>();
  let own = 0;
  let ownKnown = 0;
  let newKnown = false;
  eachEntry(lists, (list, pid, bytes, owner) => {
    if (owner === 1) {
      own++;
      if (!Number.isNaN(bytes)) ownKnown++;
    } else if (list === 0 && warm) before.add(pid);
    else if (!before.has(pid)) {
      newPids.add(pid);
      if (!Number.isNaN(bytes)) newKnown = true;
    }
  });
  return { own, ownKnown, before: warm ? before : null, newPids, newKnown };
}

/** Facts about one device besides its records. */
export interface AttributionContext {
  /** When the command began; null when unknown. */
  readonly beganNs: number | null;
  readonly baselineBytes: number | null;
  readonly totalBytes: number | null;
  /** Processes of the job whose allocators have memory on it. */
  readonly users: number;
  /** Pids of lists are not those of this machine's process tree. */
  readonly namespaced: boolean;
}

export interface DecidedAttribution {
  readonly kind: DeviceAttribution;
  /** Why the attribution is not better; null for the best. */
  readonly reason: string | null;
}

/** Highest minus lowest memory of the processes outside the job; NaN where the driver reports no sizes. */
function movedOthers(lists: DeviceLists, surely: (pid: number, owner: number) => boolean): number {
  const sums = new Float64Array(lists.timeNs.length);
  let unsaid = false;
  eachEntry(lists, (list, pid, bytes, owner) => {
    if (!surely(pid, owner)) return;
    sums[list] = sums[list]! + bytes;
    unsaid ||= Number.isNaN(bytes);
  });
  const [lowest, highest] = knownRange(sums);
  return unsaid ? Number.NaN : highest - lowest;
}

/** Lowest and highest known value; both 0 when none is known. */
export function knownRange(values: Float64Array): readonly [number, number] {
  let lowest = Number.POSITIVE_INFINITY;
  let highest = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (value < lowest) lowest = value;
    if (value > highest) highest = value;
  }
  return lowest <= highest ? [lowest, highest] : [0, 0];
}

/** Why the driver's lists do not identify the job's memory. */
function listless(seen: ListsSeen, lists: DeviceLists | null, { users }: AttributionContext): string {
  if (lists === null) return "no list of processes could be read";
  if (seen.own > 0) return "the driver does not report how much memory the job's processes use";
  const foreign = (seen.before?.size ?? 0) + seen.newPids.size > 0;
  if (users > 0 && foreign) return "the driver lists processes under numbers of another pid namespace";
  return "the driver's list shows no process of the job";
}

/** Best attribution that the records support: pid, single new pid, device delta or none. */
export function decideAttribution(
  samples: DeviceColumns | null,
  lists: DeviceLists | null,
  context: AttributionContext,
): DecidedAttribution {
  const seen = listsSeen(lists, context.beganNs);
  if (seen.ownKnown > 0 && seen.ownKnown * 2 >= seen.own) {
    const unsaid = seen.own - seen.ownKnown;
    return { kind: "pid", reason: unsaid === 0 ? null : `${unsaid} of ${seen.own} entries of the job had no size` };
  }
  const why = listless(seen, lists, context);
  const strange = context.users > 0 || context.namespaced;
  if (seen.own === 0 && strange && seen.before !== null && seen.newPids.size === 1 && seen.newKnown) {
    return { kind: "single-new-pid", reason: `${why}, and one process appeared on the device while the job ran` };
  }
  const none = (reason: string): DecidedAttribution => ({ kind: "none", reason });
  if (lists !== null && seen.own === 0 && !strange) return none(NOT_SEEN);
  if (samples === null || !samples.used.some((value) => !Number.isNaN(value))) {
    return none(`${why}, and the device's used memory cannot be read`);
  }
  if (context.baselineBytes === null) return none(`${why}, and no sample was read before the command began`);
  const mayBeOwn = seen.own > 0 ? 0 : Math.max(1, context.users);
  if (seen.newPids.size > mayBeOwn) {
    return none(`${why}, and ${seen.newPids.size} others appeared on the device while the job ran`);
  }
  const { before } = seen;
  // When the job's processes are known, all others are outside it.
  const surely = (pid: number, owner: number): boolean => owner !== 1 && (seen.own > 0 || (before?.has(pid) ?? false));
  const moved = lists === null ? 0 : movedOthers(lists, surely);
  if (Number.isNaN(moved)) return none(`${why}, nor how much others on it use`);
  if (moved > tenantLimit(context.totalBytes)) {
    return none(`${why}, and memory of earlier processes changed by ${formatBytes(moved)}`);
  }
  return { kind: "device-delta", reason: why };
}

/**
 * Owners of the entries of a device's lists, under the given attribution.
 * @param trusted owners of entries are reliable: pids are those of this machine's process tree
 * @param warm the device was read before the command began: processes in its first list are older
 */
export function listParts(kind: DeviceAttribution, lists: DeviceLists, trusted: boolean, warm: boolean): ListParts {
  switch (kind) {
    case "pid":
      return { job: (_pid, owner) => owner === 1, other: (_pid, owner) => owner === 0 };
    case "single-new-pid": {
      const { newPids } = listsSeen(lists, null);
      const other = (pid: number): boolean => !newPids.has(pid);
      return { job: (pid) => newPids.has(pid), other };
    }
    case "device-delta":
    case "none": {
      const before = (warm ? listsSeen(lists, null).before : null) ?? new Set<number>();
      const never = (): boolean => false;
      return {
        job: never,
        other: trusted ? (_pid, owner) => owner === 0 : (pid, owner) => owner !== 1 && before.has(pid),
      };
    }
    default:
      return kind satisfies never;
  }
}

/** Columns of one device on the clock of its lists, bytes; NaN = unknown. */
export interface ListColumns {
  readonly timeNs: Float64Array;
  /** The job's, by rank. */
  readonly job: ReadonlyMap<number, Float64Array>;
  readonly others: Float64Array | null;
}

/** The job's memory by rank, and others', at each list. One entry without a size makes its sum unknown. */
export function listColumns(
  lists: DeviceLists,
  { job, other }: ListParts,
  rankOf: (pid: number) => number,
  mainRank: number,
): ListColumns {
  const count = lists.timeNs.length;
  const perRank = new Map<number, Float64Array>();
  const others = new Float64Array(count);
  let anyOther = false;
  eachEntry(lists, (list, pid, bytes, owner) => {
    if (job(pid, owner)) {
      const rank = owner === 1 ? rankOf(pid) : mainRank;
      let sums = perRank.get(rank);
      if (sums === undefined) {
        sums = new Float64Array(count);
        perRank.set(rank, sums);
      }
      sums[list] = sums[list]! + bytes;
    } else if (other(pid, owner)) {
      anyOther = true;
      others[list] = others[list]! + bytes;
    } else if (Number.isNaN(owner)) {
      // The owner is unknown.
      others[list] = Number.NaN;
    }
  });
  return { timeNs: lists.timeNs, job: perRank, others: anyOther || perRank.size > 0 ? others : null };
}
