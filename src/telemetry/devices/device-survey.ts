import { ProcessRole } from "../../sampler/record-layout.ts";
import type { RecordingInfo } from "../recording/model.ts";
import type { DeviceColumns, DeviceLists, RecordFile } from "../recording/record-columns.ts";
import { NAMESPACED_PIDS, type RecordedDevice } from "../recording/recorded-device.ts";
import {
  type DecidedAttribution,
  decideAttribution,
  type ListColumns,
  listColumns,
  listParts,
  listsJobOnly,
  listsSeen,
} from "./device-attribution.ts";
import { type DeviceLocation, type DeviceUsers, deviceLocations } from "./device-locations.ts";

/** All records and info of one device. */
export interface SurveyedDevice {
  readonly index: number;
  /** From the run's info; null for a record file alone. */
  readonly recorded: RecordedDevice | null;
  readonly samples: DeviceColumns | null;
  readonly lists: DeviceLists | null;
  readonly place: DeviceLocation;
  /** The name of a rank's own memory on it. */
  readonly nameFor: (rank: number) => string;
  readonly users: DeviceUsers | null;
  readonly attribution: DecidedAttribution;
  readonly baselineBytes: number | null;
  readonly totalBytes: number | null;
  /** Null where no list was read. */
  readonly columns: ListColumns | null;
}

/** The last known value at or before a time; null when there is none. */
function lastBefore(samples: DeviceColumns, untilNs: number): number | null {
  let value: number | null = null;
  for (let i = 0; i < samples.timeNs.length && samples.timeNs[i]! <= untilNs; i++) {
    if (!Number.isNaN(samples.used[i]!)) value = samples.used[i]!;
  }
  return value;
}

function largestTotal(samples: DeviceColumns | null): number | null {
  let largest: number | null = null;
  for (const value of samples?.total ?? []) if (value > (largest ?? 0)) largest = value;
  return largest;
}

/** The rank whose processes use most of what the lists attribute to the job. */
function rankSeen(lists: DeviceLists | undefined, rankOf: (pid: number) => number): number | null {
  if (lists === undefined) return null;
  const sums = new Map<number, number>();
  for (let i = 0; i < lists.pids.length; i++) {
    if (lists.owners[i] !== 1 || lists.pids[i]! <= 0) continue;
    const rank = rankOf(lists.pids[i]!);
    sums.set(rank, (sums.get(rank) ?? 0) + (Number.isNaN(lists.bytes[i]!) ? 1 : lists.bytes[i]!));
  }
  return [...sums].sort(([a, x], [b, y]) => y - x || a - b)[0]?.[0] ?? null;
}

/**
 * @param info the run's info; once it is complete, its attribution is used
 * @param beganNs when the command began, on the recording's clock; null when unknown
 */
export function surveyDevices(
  file: RecordFile,
  info: RecordingInfo | null,
  beganNs: number | null = null,
): SurveyedDevice[] {
  const recorded = new Map((info?.devices ?? []).map((device) => [device.index, device]));
  const samples = new Map(file.devices.map((device) => [device.index, device]));
  const lists = new Map(file.lists.map((one) => [one.index, one]));
  const rankOf = rankOfPid(file, info);
  const places = deviceLocations(
    file,
    info?.probe ?? null,
    info?.identity.rank ?? 0,
    (index) => recorded.get(index)?.name ?? null,
    (index) => rankSeen(lists.get(index), rankOf),
  );
  const someOwn = file.lists.some((one) => one.owners.includes(1));
  const indices = [...new Set([...recorded.keys(), ...samples.keys(), ...lists.keys()])].sort((a, b) => a - b);
  return indices.map((index): SurveyedDevice => {
    const known = recorded.get(index) ?? null;
    const own = { samples: samples.get(index) ?? null, lists: lists.get(index) ?? null };
    const users = places.users(index);
    const totalBytes = known?.total_bytes ?? largestTotal(own.samples);
    const namespaced = known?.capabilities.includes(NAMESPACED_PIDS) ?? false;
    const judged = info?.complete === true && known !== null && beganNs === null;
    const baselineBytes = judged
      ? known.baseline_used_bytes
      : own.samples === null
        ? null
        : // Without a known begin of the command, a sample this early is older than any effect of it. Nanoseconds.
          lastBefore(own.samples, beganNs ?? 50e6);
    const attribution = judged
      ? { kind: known.attribution, reason: known.attribution_reason }
      : decideAttribution(own.samples, own.lists, {
          beganNs,
          baselineBytes,
          totalBytes,
          users: new Set(users?.streams.map(({ pid }) => pid)).size,
          namespaced,
        });
    const place = places.main(index);
    const trusted = someOwn || (users === null && !namespaced);
    const columns =
      own.lists === null
        ? null
        : listColumns(
            own.lists,
            listParts(attribution.kind, own.lists, trusted, baselineBytes !== null),
            rankOf,
            place.rank,
          );
    return {
      index,
      recorded: known,
      ...own,
      place,
      nameFor: (rank) => places.nameFor(index, rank),
      users,
      attribution,
      baselineBytes,
      totalBytes,
      columns: columns !== null && listsJobOnly(known) ? { ...columns, others: null } : columns,
    };
  });
}

/** Whether exactly one process used a device: then a mark of that process is one of the device. */
export function aloneOn({ recorded, lists, columns }: SurveyedDevice): boolean {
  if (lists === null || columns === null || listsJobOnly(recorded)) return false;
  const pids = new Set(lists.pids);
  const { before } = listsSeen(lists, null);
  return pids.size === 1 && (before === null || before.size === 0);
}

/** Number of ancestors that are searched for the rank of a process. */
const GENERATIONS = 32;

/** A process's rank: its own, its nearest ancestor's, or the recording's. A launcher of ranks has none. */
function rankOfPid(
  { streams, processes }: Pick<RecordFile, "streams" | "processes">,
  info: RecordingInfo | null,
): (pid: number) => number {
  const ownRank = info?.identity.rank ?? 0;
  const ranks = new Map<number, number>();
  const parents = new Map<number, number>();
  for (const { pid, rank, role } of streams) if (rank !== null && role !== ProcessRole.agent) ranks.set(pid, rank);
  for (const { pid, parent, rank, role } of info?.probe?.processes ?? []) {
    if (rank !== null && role !== "agent") ranks.set(pid, rank);
    if (parent !== null) parents.set(pid, parent);
  }
  // A reused pid belongs to the later process.
  for (const { pid, parent } of processes.all) if (!Number.isNaN(parent)) parents.set(pid, parent);
  return (pid) => {
    let at: number | undefined = pid;
    for (let i = 0; i < GENERATIONS && at !== undefined; i++) {
      const rank = ranks.get(at);
      if (rank !== undefined) return rank;
      at = parents.get(at);
    }
    return ownRank;
  };
}
