import type { Recording, RecordingInfo, SampleTable } from "../recording/model.ts";

/** `recording.json` of a finished run, for tests. */
export function recordingInfo(changes: Partial<RecordingInfo> = {}): RecordingInfo {
  return {
    schema: "stormlog.recording/1",
    complete: true,
    scenario: "train",
    run: 1,
    session: "s1",
    commit: null,
    command: { argv: ["node", "train.js"], shell: false, cwd: "/project" },
    exit: { kind: "exited", code: 0 },
    clock: { monotonic_start_ns: "987654321", epoch_ns: "1700000000123456789", duration_s: 2 },
    identity: { rank: 0, local_rank: 0, world_size: 1, job_id: null, host: "ci", pid: 4242 },
    fingerprint: { backend: "cpu" },
    sampler: {
      kind: "native",
      reason: null,
      host_period_ns: 5e6,
      device_period_ns: 2e7,
      host_rate_hz: 200,
      device_rate_hz: null,
      ticks: 400,
      missed_ticks: 0,
      cpu_s: 0.01,
      cpu_budget_percent: 1,
    },
    sources: [],
    peaks: [],
    output: null,
    lost: [],
    ...changes,
  };
}

export function table(changes: Partial<SampleTable> = {}): SampleTable {
  return {
    rank: 0,
    device: "host",
    timeNs: Float64Array.of(0, 5e6, 1e7),
    steps: null,
    columns: { host: Float64Array.of(1e6, 3e6, 2e6) },
    highwater: new Set(),
    ...changes,
  };
}

export function recording(changes: Partial<Recording> = {}): Recording {
  return {
    epochNs: 1_700_000_000_123_456_789n,
    tables: [table()],
    peaks: [],
    marks: [],
    events: null,
    worldSize: 1,
    missing: {},
    info: null,
    ...changes,
  };
}

/** `count` values at `periodNs`: time stamps and a column from `value`. */
export function series(
  count: number,
  periodNs: number,
  value: (i: number) => number,
): { readonly timeNs: Float64Array; readonly values: Float64Array } {
  return {
    timeNs: Float64Array.from({ length: count }, (_, i) => i * periodNs),
    values: Float64Array.from({ length: count }, (_, i) => value(i)),
  };
}
