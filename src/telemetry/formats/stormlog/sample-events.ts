import type { Recording, TelemetryEvent } from "../../recording/model.ts";
import { type StormlogTable, stormlogTables } from "./reading.ts";

/** Interval of a table with a single sample, as in Stormlog's tracker. */
const DEFAULT_INTERVAL_MS = 100;

export interface EventOptions {
  /** Percent of device memory from which a warning is written (default 80). */
  readonly warningPercent?: number;
  /** Percent of device memory from which a critical alert is written (default 95). */
  readonly criticalPercent?: number;
}

interface Writer {
  readonly reading: StormlogTable;
  readonly rows: readonly number[];
  readonly base: Omit<
    TelemetryEvent,
    "timestampNs" | "eventType" | "context" | "metadata" | `allocator${string}` | `device${"Used" | "Free" | "Total"}`
  >;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/**
 * The run, in the field from which Stormlog since 0.3.0 takes the session of an event of version 2. Runs of a bundle
 * would be one session without it. Ranks and nodes of a run share it.
 */
function sessionOf({ info }: Recording): Readonly<Record<string, string>> {
  return info === null ? {} : { session_id: `${info.session}/${info.scenario}/${info.run}` };
}

/** The typical spacing of the written samples, rounded to a millisecond, at least 1. */
function intervalOf(timeNs: Float64Array, rows: readonly number[]): number {
  if (rows.length < 2) return DEFAULT_INTERVAL_MS;
  const span = timeNs[rows.at(-1)!]! - timeNs[rows[0]!]!;
  return Math.max(1, Math.round(span / (rows.length - 1) / 1e6));
}

function writerOf(reading: StormlogTable, recording: Recording, worldSize: number): Writer | null {
  const { allocated, reserved, used, timeNs, table } = reading;
  const rows = sampleRows(timeNs, [allocated, reserved, used]);
  if (rows.length === 0) return null;
  const identity = recording.info?.identity ?? null;
  const own = identity !== null && identity.rank === table.rank;
  const localRank = own && identity.local_rank < worldSize ? identity.local_rank : table.rank;
  const knownHost = identity?.host.trim();
  const jobId = identity?.job_id?.trim();
  return {
    reading,
    rows,
    base: {
      collector: reading.collector,
      samplingIntervalMs: intervalOf(timeNs, rows),
      pid: own && Number.isInteger(identity.pid) ? Math.max(-1, identity.pid) : -1,
      host: knownHost ? knownHost : "unknown",
      jobId: jobId ? jobId : null,
      rank: table.rank,
      localRank,
      worldSize,
      deviceId: reading.deviceId,
    },
    metadata: {
      backend: reading.backend,
      supports_device_total: reading.total !== null,
      supports_device_free: reading.free !== null,
      sampling_source: reading.samplingSource,
      ...sessionOf(recording),
    },
  };
}

/** A counter at a row for the schema: a whole number of bytes, null when unknown. */
function at(values: Float64Array | null, row: number): number | null {
  const value = values?.[row] ?? Number.NaN;
  return Number.isFinite(value) && value >= 0 ? Math.round(value) : null;
}

/** Rows of a table as events; `change` is relative to the previous sample. */
class TableEvents {
  readonly #writer: Writer;
  readonly #epochNs: bigint;

  constructor(writer: Writer, epochNs: bigint) {
    this.#writer = writer;
    this.#epochNs = epochNs;
  }

  event(
    row: number,
    eventType: string,
    change: number,
    context: string | null,
    more: Readonly<Record<string, unknown>> = {},
    timeNs: number = this.#writer.reading.timeNs[row]!,
  ): TelemetryEvent {
    const { reading, base, metadata } = this.#writer;
    const allocated = at(reading.allocated, row) ?? 0;
    const reserved = at(reading.reserved, row) ?? allocated;
    const used = at(reading.used, row) ?? reserved;
    let total = at(reading.total, row);
    let free = at(reading.free, row);
    // Used exceeds the total, so the total is not a limit, and the schema rejects the pair.
    if (total !== null && used > total) {
      total = null;
      free = null;
    }
    if (total !== null && free !== null && free > total) free = null;
    const timestampNs = this.#epochNs + BigInt(Math.round(timeNs));
    return {
      ...base,
      timestampNs: timestampNs < 0n ? 0n : timestampNs,
      eventType,
      allocatorAllocated: allocated,
      allocatorReserved: reserved,
      allocatorActive: at(reading.active, row),
      allocatorInactive: at(reading.inactive, row),
      allocatorChange: change,
      deviceUsed: used,
      deviceFree: free,
      deviceTotal: total,
      context,
      metadata: { ...metadata, ...more },
    };
  }

  samples(): TelemetryEvent[] {
    let before = Number.NaN;
    return this.#writer.rows.map((row) => {
      const allocated = at(this.#writer.reading.allocated, row) ?? 0;
      const change = Number.isNaN(before) ? 0 : allocated - before;
      before = allocated;
      return this.event(row, "sample", change, null);
    });
  }

  alerts(options: EventOptions): TelemetryEvent[] {
    // Stormlog's thresholds, in percent of the device's memory.
    const warning = options.warningPercent ?? 80;
    const critical = options.criticalPercent ?? 95;
    const { allocated, total, timeNs } = this.#writer.reading;
    return alertsOf(allocated, total, { warning, critical })
      .filter((alert) => Number.isFinite(timeNs[alert.row]!))
      .map(({ row, level, percent }) => {
        const usage = Math.round(percent * 100) / 100;
        return this.event(row, level, 0, `Memory usage at ${usage.toFixed(1)}%`, { usage_percent: usage });
      });
  }

  /** The row at or before a time, else the first row. */
  rowAt(timeNs: number): number {
    const { rows, reading } = this.#writer;
    let best = rows[0]!;
    for (const row of rows) {
      if (reading.timeNs[row]! > timeNs) break;
      best = row;
    }
    return best;
  }

  /** At the begin or the end of the recording. */
  edge(eventType: "start" | "stop", timeNs: number): TelemetryEvent {
    const text = `Memory tracking ${eventType === "start" ? "started" : "stopped"}`;
    return this.event(this.#writer.rows.at(eventType === "start" ? 0 : -1)!, eventType, 0, text, {}, timeNs);
  }
}

const byTime = (a: TelemetryEvent, b: TelemetryEvent) =>
  a.timestampNs < b.timestampNs ? -1 : a.timestampNs > b.timestampNs ? 1 : 0;

/**
 * A recording as Stormlog telemetry of version 2: `start`, then samples at up to 10 Hz with all extremes, alerts and
 * out-of-memory marks by time, then `stop`. Empty when no table has both a clock and a known value.
 */
export function telemetryEvents(recording: Recording, options: EventOptions = {}): TelemetryEvent[] {
  const readings = stormlogTables(recording);
  const worldSize = readings.reduce(
    (most, { table }) => Math.max(most, table.rank + 1),
    Math.max(1, recording.worldSize ?? 1),
  );
  const writers = readings
    .map((reading) => writerOf(reading, recording, worldSize))
    .filter((writer) => writer !== null);
  if (writers.length === 0) return [];
  const times = writers.flatMap(({ reading, rows }) => [reading.timeNs[rows[0]!]!, reading.timeNs[rows.at(-1)!]!]);
  const startNs = times.reduce((least, time) => Math.min(least, time));
  const stopNs = times.reduce((most, time) => Math.max(most, time));
  const tables = writers.map((writer) => new TableEvents(writer, recording.epochNs ?? 0n));
  const between = tables.flatMap((table) => [...table.samples(), ...table.alerts(options)]);
  for (const mark of recording.marks) {
    if (mark.kind !== "oom") continue;
    const timeNs = Math.min(Math.max(mark.timeNs, startNs), stopNs);
    const table = tables[0]!;
    between.push(table.event(table.rowAt(timeNs), "critical", 0, mark.text, { oom_reason: mark.text }, timeNs));
  }
  return [
    ...tables.map((table) => table.edge("start", startNs)),
    ...between.sort(byTime),
    ...tables.map((table) => table.edge("stop", stopNs)),
  ];
}

/** An alert is repeated only after use fell this many points below its threshold. */
const REARM_POINTS = 5;

/** One crossing of a threshold. */
interface Alert {
  readonly row: number;
  readonly level: "warning" | "critical";
  readonly percent: number;
}

/** Crossings of `allocated / total`. A level is reported once until use clearly fell; critical hides the warning. */
export function alertsOf(
  allocated: Float64Array,
  total: Float64Array | null,
  thresholds: { readonly warning: number; readonly critical: number },
): Alert[] {
  const alerts: Alert[] = [];
  if (!total) return alerts;
  let armed = { warning: true, critical: true };
  for (let row = 0; row < allocated.length; row++) {
    const percent = (100 * allocated[row]!) / total[row]!;
    if (!Number.isFinite(percent)) continue;
    armed = {
      warning: armed.warning || percent < thresholds.warning - REARM_POINTS,
      critical: armed.critical || percent < thresholds.critical - REARM_POINTS,
    };
    if (percent >= thresholds.critical && armed.critical) {
      alerts.push({ row, level: "critical", percent });
      armed = { warning: false, critical: false };
    } else if (percent >= thresholds.warning && percent < thresholds.critical && armed.warning) {
      alerts.push({ row, level: "warning", percent });
      armed = { ...armed, warning: false };
    }
  }
  return alerts;
}

/** Maximum rate of written telemetry. */
const TICK_NS = 100_000_000;

/** Rows with a known clock and value, in order of time. */
function allRows(timeNs: Float64Array, main: Float64Array): number[] {
  const rows: number[] = [];
  for (let i = 0; i < main.length; i++) if (Number.isFinite(main[i]) && Number.isFinite(timeNs[i])) rows.push(i);
  // Windows need ascending time. A stable sort keeps equal timestamps in file order.
  return rows.sort((a, b) => (timeNs[a] ?? 0) - (timeNs[b] ?? 0));
}

/**
 * Rows to write as `sample` events: all up to 10 Hz, else the lowest and the highest row of `series[0]` in every window
 * of two ticks, and the overall extremes of the other series. Rows where `series[0]` is unknown are skipped.
 */
export function sampleRows(
  timeNs: Float64Array,
  series: readonly Float64Array[],
  // Maximum number of samples of one table, as in Stormlog's tracker: 8 MB, which any viewer opens.
  maxSamples: number = 10_000,
): number[] {
  const [main] = series;
  if (!main) return [];
  const rows = allRows(timeNs, main);
  if (rows.length === 0) return rows;
  const start = timeNs[rows[0]!]!;
  const span = timeNs[rows.at(-1)!]! - start;
  const tick = Math.max(TICK_NS, span / Math.max(1, maxSamples / 2 - 1) / 2);
  if (rows.length <= span / tick + 1 || rows.length <= 2) return rows;
  const kept = new Set<number>([rows[0]!, rows.at(-1)!]);
  for (const values of series) for (const row of extremes(values, rows)) kept.add(row);
  let from = 0;
  while (from < rows.length) {
    const window = Math.floor((timeNs[rows[from]!]! - start) / (2 * tick));
    let to = from;
    while (to < rows.length && Math.floor((timeNs[rows[to]!]! - start) / (2 * tick)) === window) to++;
    for (const row of extremes(main, rows, from, to)) kept.add(row);
    from = to;
  }
  return rows.filter((row) => kept.has(row));
}

/** First row of the lowest and of the highest value among `rows[from, to)`. */
function extremes(values: Float64Array, rows: readonly number[], from = 0, to: number = rows.length): number[] {
  let lowest = -1;
  let highest = -1;
  for (let i = from; i < to; i++) {
    const row = rows[i]!;
    const value = values[row]!;
    if (Number.isNaN(value)) continue;
    if (lowest < 0 || value < values[lowest]!) lowest = row;
    if (highest < 0 || value > values[highest]!) highest = row;
  }
  return lowest < 0 ? [] : [lowest, highest];
}
