import { AllocatorKind, ProcessRole } from "../../sampler/record-layout.ts";
import type { ProbeSummary } from "../recording/model.ts";
import { probeDeviceOf } from "../recording/probe-devices.ts";
import type { RecordedStream } from "../recording/recorded-streams.ts";

/** Rank and name of a driver's device in a recording. */
export interface DeviceLocation {
  readonly rank: number;
  readonly name: string;
}

/** The allocators of the job that hold memory on one device of the driver. */
export interface DeviceUsers {
  readonly streams: readonly RecordedStream[];
  /** Name of the device in each rank; the rank that uses it most comes first. */
  readonly places: readonly DeviceLocation[];
}

export interface DeviceLocations {
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

/** The highest known level of a stream, bytes. */
const heightOf = (stream: RecordedStream): number =>
  stream.allocated.reduce((height, value) => (value > height ? value : height), 0);

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
    const height = heightOf(stream) + (uses.get(key)?.height ?? 0);
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
export function deviceLocations(
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
