import { AllocatorKind, ProcessRole } from "../../sampler/record-layout.ts";
import { largestOf } from "../recording/common-clock.ts";
import type { ProbeSummary, RecordingInfo } from "../recording/model.ts";
import { probeDeviceOf } from "../recording/probe-devices.ts";
import type { DeviceColumns, DeviceLists, RecordFile } from "../recording/record-columns.ts";
import { NAMESPACED_PIDS, type RecordedDevice } from "../recording/recorded-device.ts";
import type { RecordedStream } from "../recording/recorded-streams.ts";
import {
  type DecidedAttribution,
  decideAttribution,
  type ListColumns,
  listColumns,
  listParts,
  listsJobOnly,
  listsSeen,
} from "./device-attribution.ts";

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
    const totalBytes = known?.total_bytes ?? (largestOf(own.samples?.total ?? []) || null);
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

/** Rank and name of a driver's device in a recording. */
interface DeviceLocation {
  readonly rank: number;
  readonly name: string;
}

/** The allocators of the job that hold memory on one device of the driver. */
interface DeviceUsers {
  readonly streams: readonly RecordedStream[];
  /** Name of the device in each rank; the rank that uses it most comes first. */
  readonly places: readonly DeviceLocation[];
}

interface DeviceLocations {
  /** Rank and name of the driver's series of a device. */
  readonly main: (index: number) => DeviceLocation;
  /** The name of a rank's own memory on a device. */
  readonly nameFor: (index: number, rank: number) => string;
  /** Null for a device that no allocator of the job is known to use. */
  readonly users: (index: number) => DeviceUsers | null;
}

/** First numbers of the ranges of devices; `native/sources/device_backend.h` has the same. */
const MIG_DEVICES = 256;
const DRM_DEVICES = 4096;
const APPLE_DEVICES = 8192;

/** The name of a device of which only the number is known. */
function plainDeviceName(index: number): string {
  if (index >= APPLE_DEVICES) return `mps:${index - APPLE_DEVICES}`;
  if (index >= DRM_DEVICES) return `drm:${index - DRM_DEVICES}`;
  if (index < MIG_DEVICES) return `cuda:${index}`;
  return `mig:${Math.floor((index - MIG_DEVICES) / 8)}.${(index - MIG_DEVICES) % 8}`;
}

/** The name if that one is taken by another device: the number that the driver's tools show. */
const fallbackName = (index: number): string => (index < MIG_DEVICES ? `nvml:${index}` : `device:${index}`);

interface Use extends DeviceLocation {
  readonly index: number;
  readonly height: number;
}

interface Gathered {
  readonly uses: readonly Use[];
  readonly streams: ReadonlyMap<number, readonly RecordedStream[]>;
}

/** Ranks and their use of each device, with the name; the largest use first. */
function gather(streams: readonly RecordedStream[], probe: ProbeSummary | null, ownRank: number): Gathered {
  const uses = new Map<string, Use>();
  const perDevice = new Map<number, RecordedStream[]>();
  for (const stream of streams) {
    if (stream.role === ProcessRole.agent || stream.kind === AllocatorKind.hostHeap) continue;
    const device = probeDeviceOf(stream, probe);
    const index = device?.driver_index ?? null;
    if (device === null || index === null) continue;
    perDevice.set(index, [...(perDevice.get(index) ?? []), stream]);
    const rank = stream.rank ?? ownRank;
    const key = `${index} ${rank} ${device.name}`;
    const height = (largestOf(stream.allocated) ?? 0) + (uses.get(key)?.height ?? 0);
    uses.set(key, { index, rank, name: device.name, height });
  }
  return { uses: [...uses.values()].sort((a, b) => b.height - a.height || a.index - b.index), streams: perDevice };
}

/**
 * Assigns driver devices to the rank that uses them most, under its name (CUDA_VISIBLE_DEVICES renumbers them), or
 * to the rank that `seen` returns, under the driver's name unless a used device of that rank has it.
 * @param named the driver's name of a device; null when unknown
 * @param seen the rank whose processes the driver's lists contain on a device; null when they contain none
 */
function deviceLocations(
  { streams }: { readonly streams: readonly RecordedStream[] },
  probe: ProbeSummary | null,
  ownRank: number,
  named: (index: number) => string | null = () => null,
  seen: (index: number) => number | null = () => null,
): DeviceLocations {
  const { uses, streams: perDevice } = gather(streams, probe, ownRank);
  const mains = new Map<number, DeviceLocation>();
  const taken = new Set<string>();
  const key = ({ rank, name }: DeviceLocation): string => `${rank} ${name}`;
  for (const { index, rank, name } of uses) {
    // Two processes of a rank may give two devices the same name. The larger use has it.
    if (mains.has(index) || taken.has(key({ rank, name }))) continue;
    mains.set(index, { rank, name });
    taken.add(key({ rank, name }));
  }
  for (const { rank, name } of uses) taken.add(key({ rank, name }));
  const main = (index: number): DeviceLocation => {
    const place = mains.get(index);
    if (place !== undefined) return place;
    const rank = seen(index) ?? ownRank;
    const name = named(index) ?? plainDeviceName(index);
    return { rank, name: taken.has(key({ rank, name })) ? fallbackName(index) : name };
  };
  return {
    main,
    nameFor: (index, rank) => {
      const place = main(index);
      if (place.rank === rank) return place.name;
      const own = uses.find((use) => use.index === index && use.rank === rank)?.name;
      if (own !== undefined) return own;
      return taken.has(key({ rank, name: place.name })) ? fallbackName(index) : place.name;
    },
    users: (index) => {
      const own = perDevice.get(index);
      if (own === undefined) return null;
      return { streams: own, places: uses.filter((use) => use.index === index) };
    },
  };
}
