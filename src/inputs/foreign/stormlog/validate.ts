import { isObject } from "../../../core/json.ts";
import {
  COUNTER_FIELDS,
  type CounterField,
  type Counters,
  counterProperties,
  EVENT_FIELDS,
} from "../../../telemetry/formats/stormlog/serialize.ts";
import type { TelemetryEvent } from "../../../telemetry/recording/model.ts";
import {
  checkSigns,
  checkTotal,
  Fields,
  IDENTITY_FIELDS,
  identityOf,
  NULLABLE_IN_V2,
  RecordProblem,
} from "./fields.ts";
import type { SourceRecord } from "./json-values.ts";
import { legacyEvent } from "./legacy.ts";

/** Counters in the order of checks: the types of a group before its signs. */
const COUNTER_GROUPS = ["allocator_", "device_"].map((group) =>
  COUNTER_FIELDS.filter((field) => field.startsWith(group)),
);
/** Keys that must be present in version 2, nullable ones included. */
const REQUIRED_FIELDS = EVENT_FIELDS.filter((field) => !IDENTITY_FIELDS.some((name) => name === field));

/** Capability of a version 4 counter; `change` follows `allocated`. */
const CAPABILITY_OF: Readonly<Record<CounterField, string>> = {
  allocator_allocated_bytes: "supports_allocator_allocated",
  allocator_reserved_bytes: "supports_allocator_reserved",
  allocator_active_bytes: "supports_allocator_active",
  allocator_inactive_bytes: "supports_allocator_inactive",
  allocator_change_bytes: "supports_allocator_allocated",
  device_used_bytes: "supports_device_used",
  device_free_bytes: "supports_device_free",
  device_total_bytes: "supports_device_total",
};
const CAPABILITY_TEXTS = ["backend", "telemetry_collector", "sampling_source"];
const CAPABILITY_FLAGS = [
  ...new Set(Object.values(CAPABILITY_OF)),
  "supports_native_allocator_history",
  "supports_fragmentation_analysis",
  "supports_allocator_attribution",
  "supports_bounded_profiling",
];
const CAPABILITY_KEYS = [...CAPABILITY_TEXTS, ...CAPABILITY_FLAGS];

type Version = 2 | 3 | 4;

function versionOf(fields: Fields): Version {
  const version = fields.exactInteger("schema_version");
  if (version !== 2 && version !== 3 && version !== 4) {
    throw new RecordProblem(`Unsupported schema_version: ${version}`, "INPUT_SCHEMA_VERSION");
  }
  return version;
}

/** Validated key lists, joined: a file repeats the same one for every record. */
const CHECKED_KEYS = new Map<string, Version>();

function checkKeys(fields: Fields, version: Version): void {
  const signature = Object.keys(fields.values).join();
  if (CHECKED_KEYS.get(signature) === version) return;
  const required = version === 2 ? REQUIRED_FIELDS : [...REQUIRED_FIELDS, "session_id"];
  const missing = required.filter((field) => !fields.has(field));
  if (missing.length > 0) throw new RecordProblem(`Missing required telemetry fields: ${missing.join(", ")}`);
  const known = new Set<string>([...EVENT_FIELDS, ...(version === 2 ? [] : ["session_id"])]);
  const unknown = Object.keys(fields.values)
    .filter((field) => !known.has(field))
    .sort();
  if (unknown.length > 0) throw new RecordProblem(`Unknown telemetry fields: ${unknown.join(", ")}`);
  if (CHECKED_KEYS.size < 1000) CHECKED_KEYS.set(signature, version);
}

function checkCapabilities(fields: Fields, metadata: Readonly<Record<string, unknown>>): void {
  const capabilities = metadata.memory_capabilities;
  if (!isObject(capabilities)) throw new RecordProblem("metadata.memory_capabilities must be an object");
  const keys = Object.keys(capabilities);
  if (keys.length !== CAPABILITY_KEYS.length || CAPABILITY_KEYS.some((key) => !Object.hasOwn(capabilities, key))) {
    throw new RecordProblem(`metadata.memory_capabilities must have exactly the keys ${CAPABILITY_KEYS.join(", ")}`);
  }
  for (const key of CAPABILITY_TEXTS) {
    const text = capabilities[key];
    if (typeof text !== "string" || text.trim() === "") {
      throw new RecordProblem(`metadata.memory_capabilities.${key} must be a non-empty string`);
    }
  }
  for (const key of CAPABILITY_FLAGS) {
    if (typeof capabilities[key] !== "boolean") {
      throw new RecordProblem(`metadata.memory_capabilities.${key} must be a boolean`);
    }
  }
  const partial = metadata.collector_partial_fields;
  const partialFields: readonly unknown[] = Array.isArray(partial) ? partial : [];
  for (const field of COUNTER_FIELDS) {
    const capability = CAPABILITY_OF[field];
    const isNull = fields.values[field] === null;
    if (capabilities[capability] === false && !isNull) {
      throw new RecordProblem(`${field} must be null when ${capability} is false`);
    }
    if (capabilities[capability] === true && isNull && !partialFields.includes(field)) {
      throw new RecordProblem(`${field} may be null only when metadata.collector_partial_fields names it`);
    }
  }
}

/**
 * Converts a record of version 2, 3 or 4 to its canonical form, with checks in the order of Stormlog's loader.
 * @throws RecordProblem
 */
function versionedEvent(record: SourceRecord): TelemetryEvent {
  const fields = new Fields(record);
  const version = versionOf(fields);
  checkKeys(fields, version);
  const timestampNs = BigInt(fields.exactInteger("timestamp_ns"));
  if (timestampNs < 0n) throw new RecordProblem("timestamp_ns must be >= 0");
  const eventType = fields.requiredText("event_type");
  const collector = fields.requiredText("collector");
  const samplingIntervalMs = fields.integer("sampling_interval_ms");
  if (samplingIntervalMs < 0) throw new RecordProblem("sampling_interval_ms must be >= 0");
  const pid = fields.integer("pid");
  if (pid < -1) throw new RecordProblem("pid must be >= -1");
  const host = fields.requiredText("host");
  if (version !== 2) fields.requiredText("session_id");
  checkExplicitIdentity(fields);
  const deviceId = fields.integer("device_id");
  const counters: Partial<Record<CounterField, number | null>> = {};
  for (const group of COUNTER_GROUPS) {
    for (const field of group) {
      const nullable = version === 4 || NULLABLE_IN_V2.has(field);
      counters[field] = nullable ? fields.optionalInteger(field) : fields.integer(field);
    }
    checkSigns(counters);
  }
  const whole = counters as Counters;
  checkTotal(whole);
  const context = fields.optionalText("context");
  const metadata = fields.metadata();
  if (version === 4) checkCapabilities(fields, metadata);
  return {
    timestampNs,
    eventType,
    collector,
    samplingIntervalMs,
    pid,
    host,
    ...identityOf(fields),
    deviceId,
    ...counterProperties(whole),
    context,
    metadata,
    ...(version === 4 ? { isV4: true } : {}),
  };
}

/** Identity keys that are present must have their type. Only job_id may be null. */
function checkExplicitIdentity(fields: Fields): void {
  for (const field of IDENTITY_FIELDS) {
    if (!fields.has(field)) continue;
    if (field === "job_id") {
      if (fields.values.job_id !== null) fields.requiredText("job_id");
      continue;
    }
    const value = fields.integer(field);
    const least = field === "world_size" ? 1 : 0;
    if (value < least) throw new RecordProblem(`${field} must be >= ${least}`);
  }
}

/** @param legacyCollector of legacy records without one  @throws RecordProblem */
export function eventOf(record: SourceRecord, legacyCollector = "legacy.unknown"): TelemetryEvent {
  return Object.hasOwn(record.values, "schema_version") ? versionedEvent(record) : legacyEvent(record, legacyCollector);
}
