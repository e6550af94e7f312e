import { groupBy } from "../../core/group-by.ts";
import { listsJobOnly, NOT_SEEN, tenantLimit } from "../../telemetry/devices/device-attribution.ts";
import type { Column, Recording, RecordingInfo, SampleTable } from "../../telemetry/recording/model.ts";
import type { RecordedDevice } from "../../telemetry/recording/recorded-device.ts";
import type { Finding } from "../series/document.ts";
import type { StoredFeatures } from "../series/features-schema.ts";
import { largest } from "../series/series.ts";

/** A rank and its name for a device. */
export interface RankDevice {
  readonly rank: number;
  readonly device: string;
}

/** Rank and device of a series as a map key. */
export const locationKey = ({ rank, device }: Pick<Finding, "rank" | "device">): string => `${rank} ${device}`;

/** Facts about one device of a recording besides its series. */
export type DeviceEvidence = StoredFeatures["devices"][number];
/** Highest memory of a rank on a device, as the driver reports it. */
export type HighestOfJob = StoredFeatures["jobPeaks"][number];

/** Tables of a recording by rank and device: a job of thousands of ranks asks for each of them. */
const byLocation = new WeakMap<readonly SampleTable[], ReadonlyMap<string, readonly SampleTable[]>>();

function tablesAt(tables: readonly SampleTable[], at: RankDevice): readonly SampleTable[] {
  let index = byLocation.get(tables);
  if (index === undefined) {
    index = groupBy(tables, locationKey);
    byLocation.set(tables, index);
  }
  return index.get(locationKey(at)) ?? [];
}

/** One column of the tables of one rank and device, with the clock of each. */
export function columnsAt(
  { tables }: Recording,
  at: RankDevice,
  column: Column,
): { readonly timeNs: Float64Array; readonly values: Float64Array }[] {
  return tablesAt(tables, at).flatMap((table) => {
    const values = table.columns[column];
    return values === undefined || table.timeNs === null ? [] : [{ timeNs: table.timeNs, values }];
  });
}

function tenantsOf(recording: Recording, { rank, name }: RecordedDevice): DeviceEvidence["tenants"] {
  let [firstBytes, lowestBytes, peakBytes] = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { values } of columnsAt(recording, { rank, device: name }, "others")) {
    for (const value of values) {
      if (Number.isNaN(value)) continue;
      if (Number.isNaN(firstBytes)) firstBytes = value;
      lowestBytes = Math.min(lowestBytes, value);
      peakBytes = Math.max(peakBytes, value);
    }
  }
  return Number.isNaN(firstBytes) ? null : { firstBytes, lowestBytes, peakBytes };
}

function usersOf(info: RecordingInfo, { index, rank, name }: RecordedDevice): DeviceEvidence["users"] {
  const users = new Map([[locationKey({ rank, device: name }), { rank, device: name }]]);
  for (const probed of info.probe?.processes ?? []) {
    if (probed.role === "agent") continue;
    for (const device of probed.devices) {
      if (device.driver_index !== index) continue;
      const user = { rank: probed.rank ?? info.identity.rank, device: device.name };
      users.set(locationKey(user), user);
    }
  }
  return [...users.values()].sort((a, b) => a.rank - b.rank);
}

/** The devices of a recording of this project; empty for other telemetry. */
export function deviceEvidence(recording: Recording): DeviceEvidence[] {
  const { info } = recording;
  if (info?.devices === undefined) return [];
  return info.devices.map((recorded): DeviceEvidence => {
    const users = usersOf(info, recorded);
    const tenants = tenantsOf(recording, recorded);
    const allocators = users.some((user) => columnsAt(recording, user, "reserved").length > 0);
    return {
      recorded,
      users,
      used: allocators || recorded.attribution !== "none" || recorded.attribution_reason !== NOT_SEEN,
      tenants,
      touched: tenants !== null && tenants.peakBytes - tenants.lowestBytes > tenantLimit(recorded.total_bytes),
      blind: recorded.attribution === "pid" && listsJobOnly(recorded),
    };
  });
}

/** Highest memory of each rank on each device, as drivers report it. */
export function jobPeaks(recording: Recording): HighestOfJob[] {
  return recording.tables.flatMap(({ rank, device, columns: { job } }): HighestOfJob[] => {
    const bytes = job === undefined ? null : largest(job);
    if (bytes === null) return [];
    const totals = columnsAt(recording, { rank, device }, "total").map(({ values }) => largest(values) ?? 0);
    const recorded = recording.info?.devices?.find((one) => one.rank === rank && one.name === device)?.total_bytes;
    const totalBytes = Math.max(0, ...totals, recorded ?? 0);
    return [{ rank, device, bytes, totalBytes: totalBytes > 0 ? totalBytes : null }];
  });
}
