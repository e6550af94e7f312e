import { statisticsDocument } from "../formats/stormlog/artifacts.ts";
import { telemetryEvents } from "../formats/stormlog/sample-events.ts";
import type { Recording, RecordingInfo, TelemetryEvent } from "../recording/model.ts";
import type { OutOfMemory } from "../recording/out-of-memory.ts";

/** Number of events in Stormlog's flight recorder (`oom_flight_recorder.py`, buffer_size). */
const MAX_EVENTS = 10_000;

/** A dump in the layout of Stormlog's flight recorder: its directory's name and the text of its files. */
export interface StormlogDump {
  readonly name: string;
  readonly files: Readonly<Record<"events.json" | "metadata.json" | "environment.json" | "manifest.json", string>>;
}

/** The reason by Stormlog's classifier, or our own in the same style. */
function dumpReason(oom: OutOfMemory): string {
  const name = (oom.exception ?? "").toLowerCase();
  if (name.endsWith("outofmemoryerror") && oom.runtime === "torch") return "torch.cuda.OutOfMemoryError";
  if (name.endsWith("resourceexhaustederror")) return "tensorflow.ResourceExhaustedError";
  const message = (oom.message ?? "").toLowerCase();
  // Messages of Stormlog's classifier, in its order.
  const pattern = ["out of memory", "resource exhausted", "failed to allocate", "allocation failed"].find((words) =>
    message.includes(words),
  );
  if (pattern !== undefined) return `message_pattern:${pattern}`;
  if (oom.source === "kernel") return "kernel:oom_kill";
  return oom.exception === null ? `${oom.runtime}:out_of_memory` : `exception:${oom.exception}`;
}

/** "20261121T134700Z" */
const stampOf = (date: Date): string => date.toISOString().replace(/[-:]|\.\d{3}/g, "");

/** Python writes the module separately from the name. */
function exceptionName(oom: OutOfMemory): { readonly type: string; readonly module: string } {
  if (oom.exception === null) return { type: oom.source === "kernel" ? "OomKill" : "OutOfMemory", module: oom.runtime };
  const dot = oom.exception.lastIndexOf(".");
  return dot < 0
    ? { type: oom.exception, module: "builtins" }
    : { type: oom.exception.slice(dot + 1), module: oom.exception.slice(0, dot) };
}

/**
 * An event under the names of Stormlog's recorder and of telemetry version 2. By the latter its loader reads the event
 * as in `events.json`, and once; by the older names alone it would read allocated as used memory.
 */
function dumpedEvent(event: TelemetryEvent): Record<string, unknown> {
  const known = Object.entries({
    allocator_active_bytes: event.allocatorActive,
    allocator_inactive_bytes: event.allocatorInactive,
    device_free_bytes: event.deviceFree,
    device_total_bytes: event.deviceTotal,
  }).filter(([, value]) => value !== null);
  return {
    timestamp: Number(event.timestampNs / 1000n) / 1e6,
    event_type: event.eventType,
    memory_allocated: event.allocatorAllocated ?? 0,
    memory_reserved: event.allocatorReserved ?? 0,
    memory_change: event.allocatorChange ?? 0,
    device_id: event.deviceId,
    context: event.context,
    job_id: event.jobId,
    rank: event.rank,
    local_rank: event.localRank,
    world_size: event.worldSize,
    metadata: event.metadata,
    active_memory: event.allocatorActive,
    inactive_memory: event.allocatorInactive,
    device_used: event.deviceUsed,
    device_free: event.deviceFree,
    device_total: event.deviceTotal,
    backend: event.metadata.backend ?? "unknown",
    timestamp_ns: event.timestampNs,
    collector: event.collector,
    sampling_interval_ms: event.samplingIntervalMs,
    pid: event.pid,
    host: event.host,
    device_used_bytes: event.deviceUsed ?? 0,
    ...Object.fromEntries(known),
  };
}

/** JSON with indent 2 and exact nanoseconds. */
function json(document: unknown): string {
  const text = JSON.stringify(document, (_, value) => (typeof value === "bigint" ? String(value) : value), 2);
  // Quotes inside a string would be escaped, so this pattern matches members only.
  return `${text.replace(/("timestamp_ns": )"(\d+)"/g, "$1$2")}\n`;
}

/** The sample of the failing device: its last one, else the last of any. */
function lastSampleOf(events: readonly TelemetryEvent[], oom: OutOfMemory): TelemetryEvent | undefined {
  const samples = events.filter(({ eventType }) => eventType === "sample");
  const id = oom.device === "host" ? -1 : Number(/:(\d+)$/.exec(oom.device ?? "")?.[1] ?? Number.NaN);
  return samples.findLast(({ deviceId }) => deviceId === id) ?? samples.at(-1);
}

export interface DumpRequest {
  /** The samples before the error at full rate. */
  readonly window: Recording;
  readonly oom: OutOfMemory;
  readonly info: RecordingInfo;
  /** 1-based number of the dump in its run. */
  readonly sequence: number;
}

/** One error's dump as Stormlog's flight recorder (0.2.9, `oom_flight_recorder.py`) writes it. Null without samples. */
export function stormlogDump({ window, oom, info, sequence }: DumpRequest): StormlogDump | null {
  const all = telemetryEvents(window, { everySample: true });
  const last = lastSampleOf(all, oom);
  if (last === undefined) return null;
  const epochNs = window.epochNs ?? 0n;
  const atNs = oom.time_ns === null ? last.timestampNs : epochNs + BigInt(Math.round(oom.time_ns));
  const created = new Date(Number(atNs / 1_000_000n));
  const reason = dumpReason(oom);
  const backend = String(last.metadata.backend ?? "unknown");
  const error: TelemetryEvent = {
    ...last,
    timestampNs: atNs,
    eventType: "error",
    allocatorChange: 0,
    allocatorAllocated:
      oom.source === "probe" ? (oom.allocated_bytes ?? last.allocatorAllocated) : last.allocatorAllocated,
    allocatorReserved: oom.source === "probe" ? (oom.reserved_bytes ?? last.allocatorReserved) : last.allocatorReserved,
    context: `OOM detected (${reason})`,
    metadata: { ...last.metadata, oom_reason: reason },
  };
  const events = [...all.filter(({ eventType }) => eventType !== "start" && eventType !== "stop"), error].slice(
    -MAX_EVENTS,
  );
  const pid = oom.pid ?? (info.identity.pid > 0 ? info.identity.pid : 0);
  const name = `oom_dump_${stampOf(created)}_${pid}_${backend.replace(/[^a-zA-Z0-9_-]+/g, "_")}_${sequence}`;
  const { type, module } = exceptionName(oom);
  return {
    name,
    files: {
      "events.json": json(events.map(dumpedEvent)),
      "metadata.json": json({
        reason,
        exception_type: type,
        exception_module: module,
        exception_message: oom.message ?? oom.evidence[0] ?? "",
        context: info.scenario,
        backend,
        captured_event_count: events.length,
        custom_metadata: {
          tracker_stats: statisticsDocument(all, window),
          collector_capabilities: {
            backend,
            supports_device_total: last.metadata.supports_device_total ?? false,
            supports_device_free: last.metadata.supports_device_free ?? false,
            sampling_source: last.metadata.sampling_source ?? null,
          },
          total_memory_bytes: oom.total_bytes ?? last.deviceTotal,
          sampling_interval_s: last.samplingIntervalMs / 1000,
          job_id: last.jobId,
          rank: last.rank,
          local_rank: last.localRank,
          world_size: last.worldSize,
          sample_allocated_bytes: last.allocatorAllocated,
          sample_reserved_bytes: last.allocatorReserved,
          sample_used_bytes: last.deviceUsed,
          sample_free_bytes: last.deviceFree,
          sample_total_bytes: last.deviceTotal,
          sample_device_id: last.deviceId,
          requested_bytes: oom.requested_bytes,
          step: oom.step,
          certainty: oom.certainty,
          evidence: oom.evidence,
        },
      }),
      "environment.json": json({
        pid,
        cwd: info.command.cwd,
        system: { ...info.fingerprint, host: info.identity.host, command: info.command.argv },
      }),
      "manifest.json": json({
        schema_version: 1,
        bundle_name: name,
        created_at_utc: created.toISOString().replace(/\.\d{3}/, ""),
        reason,
        backend,
        event_count: events.length,
        files: ["manifest.json", "events.json", "metadata.json", "environment.json"],
      }),
    },
  };
}
