import * as v from "valibot";
import type { DeepReadonly } from "../../core/json.ts";
import { DEVICE_BACKENDS, type DeviceReport, vendorOf } from "../../sampler/sampler.ts";

/**
 * Attribution of a device's memory to the measured job, best first:
 * - `pid`: the driver lists the job's processes with their sizes;
 * - `single-new-pid`: one process appeared on the device while the job ran, under a number of another pid namespace;
 * - `device-delta`: the device's used memory minus that before the job began;
 * - `none`: others used the device at the same time, or no sample was read before the job began.
 */
const ATTRIBUTIONS = ["pid", "single-new-pid", "device-delta", "none"] as const;
export type DeviceAttribution = (typeof ATTRIBUTIONS)[number];

const bytes = v.nullable(v.pipe(v.number(), v.integer()));
const count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** Components of the device's used memory outside the allocator's reserved memory, bytes; null = unknown. */
export const GapSharesSchema = v.object({
  /** "process": of the memory the driver reports for it; "device": of the device's, since before the job. */
  level: v.picklist(["process", "device"]),
  /** Highest gap. */
  peak_bytes: bytes,
  /** Driver and runtime context: the gap after the creation of the process's context. */
  context_bytes: bytes,
  /** Kernels and libraries loaded from then until the first communicator, or the first steps. */
  library_bytes: bytes,
  /** Memory of communicators. */
  communicator_bytes: bytes,
  /** Later growth, while steps ran. */
  later_bytes: bytes,
});
export type GapShares = v.InferOutput<typeof GapSharesSchema>;

/** A device of a recording, as the driver reported it; entry of `devices` in `recording.json`. */
export const RecordedDeviceSchema = v.object({
  /** The id of its records. */
  index: count,
  /** Rank and name of its series. */
  rank: count,
  name: v.string(),
  backend: v.picklist(DEVICE_BACKENDS),
  model: v.nullable(v.string()),
  uuid: v.nullable(v.string()),
  pci_bus_id: v.nullable(v.string()),
  total_bytes: bytes,
  driver: v.nullable(v.string()),
  parent: v.nullable(count),
  mig_profile: v.nullable(v.string()),
  unified: v.boolean(),
  capabilities: v.array(v.string()),
  /** Values that could not be read, with the reason. */
  reason: v.nullable(v.string()),
  attribution: v.picklist(ATTRIBUTIONS),
  /** Why the attribution is not better. */
  attribution_reason: v.nullable(v.string()),
  /** Used before the command began. */
  baseline_used_bytes: bytes,
  /** Highest memory of the job on it, and whether that is the driver's own mark. */
  job_peak_bytes: bytes,
  job_peak_kind: v.nullable(v.picklist(["exact", "sampled"])),
  /** Memory of processes outside the job, where the driver separates them. */
  others_first_bytes: bytes,
  others_peak_bytes: bytes,
  /** Samples per second that were reached. */
  rate_hz: v.nullable(v.number()),
  /** Number of process lists that were read. */
  process_lists: count,
  gap: v.nullable(GapSharesSchema),
});
export type RecordedDevice = DeepReadonly<v.InferOutput<typeof RecordedDeviceSchema>>;

/** Kinds of device events. */
export const HEALTH_KINDS = [
  "lost",
  "reset-required",
  "xid",
  "ecc",
  "row-remap",
  "unavailable",
  "driver-mismatch",
  "unreachable",
  "capacity-changed",
  "count-changed",
  "stalled",
  "recovered",
] as const;

/** An event of a device during the measurement. */
export const DeviceHealthSchema = v.object({
  /** On the recording's clock. */
  timeNs: v.number(),
  rank: v.number(),
  /** Name of its series; "all" for all devices of a driver. */
  device: v.string(),
  kind: v.picklist(HEALTH_KINDS),
  /** Xid number, NVML code, new size or count, or nanoseconds of a stall, depending on the kind; null for others. */
  code: v.nullable(v.number()),
  /** Number of occurrences. */
  count: v.number(),
});
export type DeviceHealth = DeepReadonly<v.InferOutput<typeof DeviceHealthSchema>>;

/** Capability of a device whose lists may show pids outside this process tree: the gate runs in a pid namespace. */
export const NAMESPACED_PIDS = "pids:namespaced";

/** What is known of a device once it is sampled, before the command ran. */
export function startedDevice(report: DeviceReport, rank: number, namespaced: boolean): RecordedDevice {
  return {
    index: report.index,
    rank,
    name: report.name,
    backend: vendorOf(report),
    model: report.model,
    uuid: report.uuid,
    pci_bus_id: report.pci_bus_id ?? null,
    total_bytes: report.total_bytes,
    driver: report.driver,
    parent: report.parent ?? null,
    mig_profile: report.mig_profile ?? null,
    unified: report.unified ?? false,
    capabilities: [...(report.capabilities ?? []), ...(namespaced ? [NAMESPACED_PIDS] : [])],
    reason: report.reason ?? null,
    attribution: "none",
    attribution_reason: "the run was not finished: the use of the device by other processes was not judged",
    baseline_used_bytes: null,
    job_peak_bytes: null,
    job_peak_kind: null,
    others_first_bytes: null,
    others_peak_bytes: null,
    rate_hz: null,
    process_lists: 0,
    gap: null,
  };
}
