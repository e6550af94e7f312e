import { isObject } from "../../../core/json.ts";
import { MIB } from "../../../core/units.ts";
import { type Counters, counterProperties } from "../../../telemetry/formats/stormlog/serialize.ts";
import type { TelemetryEvent } from "../../../telemetry/recording/model.ts";
import { checkSigns, checkTotal, Fields, IDENTITY_FIELDS, identityOf, RecordProblem } from "./fields.ts";
import type { SourceRecord } from "./json-values.ts";

const METADATA_PREFIX = "metadata_";
const BACKEND_COLLECTORS: Readonly<Record<string, string>> = {
  mps: "stormlog.mps_tracker",
  rocm: "stormlog.rocm_tracker",
  cuda: "stormlog.cuda_tracker",
  cpu: "stormlog.cpu_tracker",
};

function metadataOf(fields: Fields): Record<string, unknown> {
  const own = fields.values.metadata;
  if (own !== null && own !== undefined && !isObject(own)) {
    throw new RecordProblem("metadata must be an object when provided");
  }
  const metadata: Record<string, unknown> = isObject(own) ? { ...own } : {};
  for (const [key, value] of Object.entries(fields.values)) {
    if (key.startsWith(METADATA_PREFIX)) metadata[key.slice(METADATA_PREFIX.length)] = value;
  }
  return metadata;
}

function timestampOf(fields: Fields): bigint {
  if (fields.has("timestamp_ns")) return BigInt(fields.exactInteger("timestamp_ns"));
  const seconds = fields.number("timestamp");
  if (seconds === null) throw new RecordProblem("Legacy record is missing a valid timestamp");
  const nanoseconds = Math.trunc(seconds * 1e9);
  if (!Number.isFinite(nanoseconds)) throw new RecordProblem("Legacy record is missing a valid timestamp");
  return BigInt(nanoseconds);
}

function deviceIdOf(fields: Fields): number {
  if (fields.has("device_id")) return fields.integer("device_id");
  const device = fields.values.device;
  if (typeof device === "string") {
    const lower = device.toLowerCase();
    if (lower.includes("cpu")) return -1;
    const tail = /:(\d+)$/.exec(device);
    if (tail) return Number(tail[1]);
    if (lower.startsWith("/gpu")) return 0;
  }
  return fields.has("memory_mb") ? 0 : -1;
}

function allocatedOf(fields: Fields): number {
  for (const key of ["allocator_allocated_bytes", "memory_allocated"]) if (fields.has(key)) return fields.integer(key);
  const megabytes = fields.number("memory_mb");
  if (megabytes !== null) return Math.trunc(megabytes * MIB);
  return fields.has("device_used_bytes") ? fields.integer("device_used_bytes") : 0;
}

function firstOf(fields: Fields, keys: readonly string[], fallback: number): number {
  const key = keys.find((candidate) => fields.has(candidate));
  return key === undefined ? fallback : fields.integer(key);
}

function totalOf(fields: Fields, metadata: Fields): number | null {
  if (fields.has("device_total_bytes")) return fields.optionalInteger("device_total_bytes");
  for (const source of [fields, metadata]) {
    const key = ["total_memory", "device_total", "total_bytes"].find((candidate) => source.has(candidate));
    if (key !== undefined) return source.optionalInteger(key);
  }
  return null;
}

function collectorOf(fields: Fields, metadata: Fields, deviceId: number, fallback: string): string {
  const own = fields.values.collector;
  if (typeof own === "string" && own.trim() !== "") return own;
  const backend = fields.has("backend") ? fields.values.backend : metadata.values.backend;
  const named = typeof backend === "string" ? BACKEND_COLLECTORS[backend.trim().toLowerCase()] : undefined;
  if (named !== undefined) return named;
  if (fields.has("memory_mb")) return "stormlog.tensorflow.memory_tracker";
  if (!fields.has("memory_allocated")) return fallback;
  return deviceId === -1 ? "stormlog.cpu_tracker" : "stormlog.cuda_tracker";
}

/**
 * Converts a record without `schema_version` to version 2: each field from the first source that the record has.
 * @throws RecordProblem
 */
export function legacyEvent(record: SourceRecord, defaultCollector: string): TelemetryEvent {
  const fields = new Fields(record);
  const extra = metadataOf(fields);
  const metadata = new Fields({ values: extra, fractions: record.fractions });
  const timestampNs = timestampOf(fields);
  if (timestampNs < 0n) throw new RecordProblem("timestamp_ns must be >= 0");
  const deviceId = deviceIdOf(fields);
  const allocated = allocatedOf(fields);
  const reserved = firstOf(fields, ["allocator_reserved_bytes", "memory_reserved"], allocated);
  const change = firstOf(fields, ["allocator_change_bytes", "memory_change"], 0);
  const active = fields.optionalInteger("allocator_active_bytes");
  const inactive = fields.optionalInteger("allocator_inactive_bytes");
  const used = firstOf(fields, ["device_used_bytes"], allocated);
  const total = totalOf(fields, metadata);
  const free = fields.has("device_free_bytes")
    ? fields.optionalInteger("device_free_bytes")
    : total === null
      ? null
      : Math.max(total - used, 0);
  const typeField = ["event_type", "type"].find((key) => fields.has(key));
  const eventType = typeField === undefined ? "sample" : fields.requiredText(typeField);
  const pidSource = fields.has("pid") ? fields : metadata;
  const hostSource = fields.has("host") ? fields : metadata;
  const contextField = fields.has("context") ? "context" : "message";
  const counters: Counters = {
    allocator_allocated_bytes: allocated,
    allocator_reserved_bytes: reserved,
    allocator_active_bytes: active,
    allocator_inactive_bytes: inactive,
    allocator_change_bytes: change,
    device_used_bytes: used,
    device_free_bytes: free,
    device_total_bytes: total,
  };
  checkSigns(counters);
  checkTotal(counters);
  const pid = pidSource.has("pid") ? pidSource.integer("pid") : -1;
  if (pid < -1) throw new RecordProblem("pid must be >= -1");
  const samplingIntervalMs = firstOf(fields, ["sampling_interval_ms"], 0);
  if (samplingIntervalMs < 0) throw new RecordProblem("sampling_interval_ms must be >= 0");
  return {
    timestampNs,
    eventType,
    collector: collectorOf(fields, metadata, deviceId, defaultCollector),
    samplingIntervalMs,
    pid,
    host: hostSource.has("host") ? hostSource.requiredText("host") : "unknown",
    ...identityOf(fields, extra),
    deviceId,
    ...counterProperties(counters),
    context: fields.optionalText(contextField),
    metadata: Object.fromEntries(
      Object.entries(extra).filter(([key]) => !IDENTITY_FIELDS.some((name) => name === key)),
    ),
  };
}
