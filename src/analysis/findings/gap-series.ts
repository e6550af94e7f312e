import { emptyBefore, steadyAt, WARM_STEPS } from "../../telemetry/devices/device-gap.ts";
import { heldAt } from "../../telemetry/recording/common-clock.ts";
import type { Recording } from "../../telemetry/recording/model.ts";
import type { GapShares } from "../../telemetry/recording/recorded-device.ts";
import { type AnalysedSeries, MIN_SAMPLES } from "../growth/series-analysis.ts";
import { isThinned, type MetricSeries } from "../series/series.ts";
import { columnsAt, type DeviceEvidence, locationKey, type RankDevice } from "./device-evidence.ts";

/** Device memory outside the allocator over time. */
export interface MeasuredGap {
  readonly series: MetricSeries;
  /** Its components; null when no source reports them. */
  readonly shares: GapShares | null;
  /** Its median over the last quarter of the samples, bytes; null when unknown. */
  readonly lateBytes: number | null;
}

/** A gap with its features. */
export type AnalysedGap = AnalysedSeries & Omit<MeasuredGap, "series">;

type Clocked = { readonly timeNs: Float64Array; readonly values: Float64Array };

/** The bytes of `other` at the times of `series`; null when neither rows nor clocks relate the two. */
function sameClock(series: MetricSeries, other: MetricSeries): Float64Array | null {
  const sameRows = series.timeNs === other.timeNs && series.steps === other.steps;
  if (sameRows && series.bytes.length === other.bytes.length) return other.bytes;
  return series.timeNs === null || other.timeNs === null ? null : heldAt(other.timeNs, other.bytes, series.timeNs);
}

/**
 * Used minus reserved of one rank and device, at the times of `used`. Unlike each of the two, it can fall. If the two
 * have clocks of their own, the last earlier sample of reserved is used.
 */
function plainGap(used: MetricSeries, reservedAt: ReadonlyMap<string, MetricSeries>): MeasuredGap | null {
  if (used.metric !== "used" || used.device === "host") return null;
  const reserved = reservedAt.get(locationKey(used));
  if (!reserved) return null;
  const beside = sameClock(used, reserved);
  if (beside === null) return null;
  const bytes = new Float64Array(used.bytes.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = used.bytes[i]! - beside[i]!;
  return { series: { ...used, highwater: false, bytes }, shares: null, lateBytes: null };
}

function lateMedian(bytes: Float64Array): number | null {
  const known = bytes.filter((value) => !Number.isNaN(value));
  const late = known.subarray(Math.floor((known.length * 3) / 4)).sort();
  return late.length === 0 ? null : late[late.length >> 1]!;
}

/** Memory of the allocators at each time, while each was constant; null without samples of them. */
export function reservedOf(readings: readonly Clocked[], at: Float64Array): Float64Array | null {
  if (readings.length === 0) return null;
  const sums = new Float64Array(at.length);
  for (const { timeNs, values } of readings) {
    const before = emptyBefore(timeNs, values);
    const held = steadyAt(timeNs, values, at, { before, goneNs: Number.POSITIVE_INFINITY });
    for (let i = 0; i < sums.length; i++) sums[i] = sums[i]! + held[i]!;
  }
  return sums;
}

/**
 * End of the warm-up steps of the last of these ranks; infinite for one that never reached it, null without steps.
 * Until then every gap grows: contexts, libraries and communicators are created one after the other, and ranks that
 * start one by one form a staircase that looks like a leak in a run of a few seconds.
 */
function warmFrom({ tables }: Recording, users: readonly RankDevice[]): number | null {
  const ends = tables.flatMap(({ rank, device, timeNs, steps }): number[] => {
    if (timeNs === null || steps === null || !users.some((one) => one.rank === rank && one.device === device))
      return [];
    const at = steps.findIndex((step) => step >= WARM_STEPS);
    if (at >= 0) return [timeNs[at]!];
    // A rank that records steps and never reached this one was still starting when the recording ended.
    return steps.some((step) => !Number.isNaN(step)) ? [Number.POSITIVE_INFINITY] : [];
  });
  return ends.length === 0 ? null : ends.reduce((latest, end) => Math.max(latest, end));
}

/** The samples from a time on. */
function since({ timeNs, values }: Clocked, fromNs: number | null): Clocked {
  const at = fromNs === null ? 0 : timeNs.findIndex((time) => time >= fromNs);
  const first = at < 0 ? timeNs.length : at;
  return { timeNs: timeNs.subarray(first), values: values.subarray(first) };
}

function gapOf(
  rankDevice: RankDevice,
  whole: Clocked,
  parts: Float64Array,
  minus: number,
  device: DeviceEvidence,
  thinned: boolean,
): MeasuredGap {
  const bytes = whole.values.map((value, i) => value - minus - parts[i]!);
  return {
    series: {
      ...rankDevice,
      metric: "used",
      highwater: false,
      timeNs: whole.timeNs,
      steps: null,
      bytes,
      thinned,
      totalBytes: device.recorded.total_bytes,
    },
    shares: device.recorded.gap,
    lateBytes: lateMedian(bytes),
  };
}

/** From the driver's account of a rank: also correct where others share the device, but sampled less often. */
function processGaps(recording: Recording, device: DeviceEvidence): MeasuredGap[] {
  return device.users.flatMap((rankDevice): MeasuredGap[] => {
    const [whole] = columnsAt(recording, rankDevice, "job");
    const job = whole === undefined ? undefined : since(whole, warmFrom(recording, [rankDevice]));
    const reserved = job === undefined ? null : reservedOf(columnsAt(recording, rankDevice, "reserved"), job.timeNs);
    return job === undefined || reserved === null
      ? []
      : [gapOf(rankDevice, job, reserved, 0, device, isThinned(recording))];
  });
}

/** From the device's used memory since before the job, minus the memory of all allocators of the job on it. */
function deviceGaps(recording: Recording, device: DeviceEvidence): MeasuredGap[] {
  const { rank, name, baseline_used_bytes: baseline } = device.recorded;
  const rankDevice = { rank, device: name };
  const [whole] = columnsAt(recording, rankDevice, "used");
  if (whole === undefined || device.touched || device.blind) return [];
  const used = since(whole, warmFrom(recording, device.users));
  const readings = device.users.flatMap((user) => columnsAt(recording, user, "reserved"));
  const reserved = reservedOf(readings, used.timeNs);
  if (reserved === null) return [];
  const gap = gapOf(rankDevice, used, reserved, baseline ?? 0, device, isThinned(recording));
  // Without a sample from before the job only its growth is meaningful, not its height.
  return [baseline === null ? { ...gap, lateBytes: null } : gap];
}

const known = ({ series: { bytes } }: MeasuredGap): number =>
  bytes.reduce((n, value) => n + Number(!Number.isNaN(value)), 0);

function gapsOf(recording: Recording, device: DeviceEvidence): MeasuredGap[] {
  const [byProcess, byDevice] = [processGaps(recording, device), deviceGaps(recording, device)];
  const enough = byProcess.length > 0 && byProcess.every((gap) => known(gap) >= MIN_SAMPLES);
  // Of ranks that share a device only their own accounts show whose memory grows.
  if (enough && device.users.length > 1) {
    // The components are those of the whole device.
    return byProcess.map((gap) => ({ ...gap, shares: null, lateBytes: null }));
  }
  if (enough && byDevice.length === 0) return byProcess;
  return byDevice.length > 0 ? byDevice : byProcess;
}

/** Device memory outside the allocators, one series for each rank and device where it is known. */
export function measuredGaps(
  recording: Recording,
  collected: readonly MetricSeries[],
  devices: readonly DeviceEvidence[],
): MeasuredGap[] {
  if (devices.length === 0) {
    const reserved = collected.filter(({ metric }) => metric === "reserved");
    const reservedAt = new Map(reserved.map((one) => [locationKey(one), one]));
    return collected.flatMap((used) => plainGap(used, reservedAt) ?? []);
  }
  return devices.flatMap((device) => gapsOf(recording, device));
}
