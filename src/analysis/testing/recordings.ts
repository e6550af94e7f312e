import type { Column, Recording, SampleTable, TelemetryEvent } from "../../telemetry/recording/model.ts";

/** Recordings for tests, made of plain numbers. */
export function recordingOf(tables: readonly SampleTable[], rest: Partial<Recording> = {}): Recording {
  return {
    epochNs: null,
    tables,
    peaks: [],
    marks: [],
    events: null,
    worldSize: null,
    missing: {},
    info: null,
    ...rest,
  };
}

export interface TableOptions {
  readonly rank?: number;
  readonly device?: string;
  /** Seconds between samples; null for a source without a clock. */
  readonly intervalS?: number | null;
  readonly timeNs?: Float64Array;
  readonly steps?: boolean | Float64Array;
  readonly highwater?: readonly Column[];
}

export function tableOf(columns: Partial<Record<Column, ArrayLike<number>>>, options: TableOptions = {}): SampleTable {
  const typed = Object.fromEntries(
    Object.entries(columns).map(([name, values]) => [name, Float64Array.from(values)]),
  ) as Partial<Record<Column, Float64Array>>;
  const n = Object.values(typed)[0]?.length ?? 0;
  const { intervalS = 0.1, steps = false } = options;
  return {
    rank: options.rank ?? 0,
    device: options.device ?? "cuda:0",
    timeNs:
      options.timeNs ??
      (intervalS === null ? null : Float64Array.from({ length: n }, (_, i) => Math.round(i * intervalS * 1e9))),
    steps: steps === true ? Float64Array.from({ length: n }, (_, i) => i) : steps === false ? null : steps,
    columns: typed,
    highwater: new Set(options.highwater ?? []),
  };
}

export const REPLAY_START_NS = 1_700_000_000_000_000_000n;

/** One Stormlog event with the fields of a rule; the others as in upstream's replays. */
export function eventOf(fields: Partial<TelemetryEvent> & { readonly timestampNs: bigint }): TelemetryEvent {
  return {
    eventType: "sample",
    collector: "stormlog.cuda_tracker",
    samplingIntervalMs: 100,
    pid: 1,
    host: "replay",
    jobId: null,
    rank: 0,
    localRank: fields.rank ?? 0,
    worldSize: 1,
    deviceId: 0,
    allocatorAllocated: 0,
    allocatorReserved: 0,
    allocatorActive: null,
    allocatorInactive: null,
    allocatorChange: 0,
    deviceUsed: 0,
    deviceFree: null,
    deviceTotal: null,
    context: null,
    metadata: {},
    ...fields,
  };
}
