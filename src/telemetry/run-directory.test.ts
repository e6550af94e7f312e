import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GateError } from "../core/errors.ts";
import { draws } from "../core/testing/draws.ts";
import { readTelemetry } from "../inputs/foreign/read.ts";
import { readCsvEvents, readJsonEvents } from "../inputs/foreign/stormlog/event-source.ts";
import { jsonValues } from "../inputs/foreign/stormlog/json-values.ts";
import { readParquet, writeParquet } from "./formats/parquet.ts";
import { alertsOf, sampleRows, telemetryEvents } from "./formats/stormlog/sample-events.ts";
import { EVENT_FIELDS, eventsCsv, eventsJson } from "./formats/stormlog/serialize.ts";
import { RAW_RECORD_FILE, SAMPLES_FILE } from "./recording/run-files.ts";
import { parseRecordingInfo, readRecordingInfo } from "./recording/run-info.ts";
import { writeRunFiles } from "./run-directory.ts";
import { recording, recordingInfo, series, table } from "./testing/recordings.ts";

const STORMLOG_PYTHON = process.env.STORMLOG_PYTHON ?? "";
const MIB = 2 ** 20;
const GIB = 2 ** 30;
let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "run-directory-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));
const file = (name: string) => path.join(directory, name);
const codeOf = async (work: () => unknown): Promise<string> => {
  try {
    await work();
  } catch (error) {
    if (error instanceof GateError) return error.code;
    throw error;
  }
  return "none";
};

/** Ten seconds at 200 Hz with one spike of a single tick and one dip. */
const hostRun = () => {
  const { timeNs, values } = series(2000, 5e6, (i) =>
    i === 777 ? 900 * MIB : i === 1500 ? 1 * MIB : 100 * MIB + i * 4096,
  );
  return recording({
    tables: [table({ timeNs, columns: { host: values, rss: values.map((v) => v + MIB) } })],
    info: recordingInfo(),
  });
};
const deviceRun = () => {
  const { timeNs, values } = series(500, 20e6, (i) => (i === 123 ? 9 * GIB : i > 300 ? 9.8 * GIB : 2 * GIB));
  const constant = (value: number) => values.map(() => value);
  const columns = {
    allocated: values,
    reserved: values.map((v) => Math.max(v, 4 * GIB)),
    used: constant(9.9 * GIB),
    total: constant(10 * GIB),
    free: constant(0.1 * GIB),
  };
  return recording({
    tables: [table({ device: "cuda:1", rank: 2, timeNs, columns: { ...columns } }), table()],
    worldSize: 4,
    marks: [{ timeNs: 5e9, kind: "oom", text: "CUDA out of memory" }],
  });
};

describe("samples.parquet", () => {
  it("reads back exactly as it was written", async () => {
    const original = recording({
      tables: [
        table({ columns: { host: Float64Array.of(1, Number.NaN, 2 ** 52 + 1), processes: Float64Array.of(1, 2, 3) } }),
        table({
          rank: 1,
          device: "cuda:0",
          timeNs: null,
          steps: Float64Array.of(0, 1, Number.NaN),
          columns: { allocated: Float64Array.of(0.5, 1, 2), reserved: Float64Array.of(NaN, NaN, NaN) },
          highwater: new Set(["reserved"]),
        }),
        table({
          rank: 1,
          device: "cuda:0",
          timeNs: Float64Array.of(1e9),
          columns: { job: Float64Array.of(7), others: Float64Array.of(Number.NaN) },
        }),
        table({ rank: 2, device: "mps:0", timeNs: new Float64Array(0), columns: { used: new Float64Array(0) } }),
      ],
      peaks: [{ rank: 0, device: "host", metric: "host", bytes: 5, kind: "exact", source: "VmHWM" }],
      marks: [
        { timeNs: 1, kind: "process-start", text: 'a "b" \u0000', pid: 7 },
        { timeNs: 2, kind: "stop", text: "" },
      ],
      health: [
        { timeNs: 5e9, rank: 1, device: "cuda:0", kind: "xid", code: 79, count: 2 },
        { timeNs: 6e9, rank: 0, device: "all", kind: "driver-mismatch", code: null, count: 1 },
      ],
      missing: { allocated_bytes: 3 },
      epochNs: null,
      worldSize: 4,
    });
    writeParquet(file("a.parquet"), original);
    expect(await readParquet(file("a.parquet"))).toEqual(original);
    expect(readdirSync(directory)).toEqual(["a.parquet"]);
  });

  it("round-trips the marks of rows at the end of a step, and tables without them", async () => {
    const timeNs = Float64Array.of(1, 2, 3);
    const heap = { timeNs, steps: Float64Array.of(1, 1, 2), atStep: Uint8Array.of(1, 0, 1) };
    const original = recording({
      tables: [
        table({ timeNs, columns: { host: Float64Array.of(7, 8, 9) } }),
        table({ ...heap, columns: { allocated: Float64Array.of(4, 5, 6) } }),
      ],
    });
    writeParquet(file("steps.parquet"), original);
    expect((await readParquet(file("steps.parquet"))).tables).toEqual(original.tables);
  });

  it("round-trips any table of integers and gaps over several row groups", async () => {
    const value = fc.oneof(fc.maxSafeNat(), fc.constant(Number.NaN), fc.nat(5));
    const column = fc.array(value, { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(column, fc.boolean(), async (values, fraction) => {
        const used = Float64Array.from(fraction ? [...values, 0.25] : values);
        const one = recording({ tables: [table({ timeNs: used.map((_, i) => i), columns: { used } })] });
        writeParquet(file("p.parquet"), one);
        expect((await readParquet(file("p.parquet"))).tables).toEqual(one.tables);
      }),
      { numRuns: draws(60) },
    );
    const { timeNs, values } = series(250_001, 1e6, (i) => (i % 7 === 0 ? Number.NaN : i * 4096));
    const large = recording({ tables: [table({ timeNs, columns: { host: values } })] });
    writeParquet(file("l.parquet"), large);
    expect((await readParquet(file("l.parquet"))).tables).toEqual(large.tables);
  });

  it("samples.parquet is rejected with a code when it is truncated or damaged", async () => {
    writeParquet(file("a.parquet"), hostRun());
    const bytes = readFileSync(file("a.parquet"));
    for (const size of [4, 8, 100, bytes.length - 9, bytes.length - 1]) {
      writeFileSync(file("cut.parquet"), bytes.subarray(0, size));
      expect(await codeOf(() => readTelemetry(file("cut.parquet")))).toBe(
        size === 4 ? "PARQUET_UNREADABLE" : "INPUT_TRUNCATED",
      );
      expect(await codeOf(() => readParquet(file("cut.parquet")))).toBe("PARQUET_UNREADABLE");
    }
    const damaged = Buffer.from(bytes);
    damaged.fill(0xee, 10, bytes.length - 300);
    writeFileSync(file("bad.parquet"), damaged);
    expect(await codeOf(() => readParquet(file("bad.parquet")))).toBe("PARQUET_UNREADABLE");
  });

  it("samples.parquet is read without the columns and peaks of a later version", async () => {
    const run = hostRun();
    const [only] = run.tables;
    const later = table({ timeNs: only!.timeNs!, columns: { ...only!.columns, python: only!.columns.host! } });
    const peak = { rank: 0, device: "host", metric: "python", bytes: 1, kind: "sampled", source: "pymalloc" } as const;
    writeParquet(file("later.parquet"), { ...run, tables: [later], peaks: [peak] });
    const bytes = readFileSync(file("later.parquet"), "latin1").replaceAll("python", "pythom");
    writeFileSync(file("later.parquet"), bytes, "latin1");
    expect(await readParquet(file("later.parquet"))).toMatchObject({ tables: run.tables, peaks: [] });
  });
});

describe("sampleRows", () => {
  it("keeps every row of a slow source and both extremes of every window of a fast one", () => {
    const slow = series(50, 200e6, (i) => i);
    expect(sampleRows(slow.timeNs, [slow.values])).toHaveLength(50);
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.nat(1e9), fc.constant(Number.NaN)), { minLength: 1, maxLength: 600 }),
        fc.integer({ min: 10, max: 200 }),
        (list, most) => {
          const values = Float64Array.from(list);
          const timeNs = values.map((_, i) => i * 5e6);
          const rows = sampleRows(timeNs, [values], most);
          const known = list.filter((value) => !Number.isNaN(value));
          expect(rows).toEqual([...rows].sort((a, b) => a - b));
          if (known.length === 0) expect(rows).toEqual([]);
          else {
            expect(Math.max(...rows.map((row) => values[row]!))).toBe(Math.max(...known));
            expect(Math.min(...rows.map((row) => values[row]!))).toBe(Math.min(...known));
          }
          expect(rows.length).toBeLessThanOrEqual(Math.max(most + 6, (list.length * 5e6) / 1e8 + 6));
        },
      ),
    );
  });
});

describe("telemetry events", () => {
  it("events of a CPU run have host memory in all three counters, start first, stop last, at 10 Hz or slower", () => {
    const events = telemetryEvents(hostRun());
    expect(events[0]).toMatchObject({ eventType: "start", timestampNs: 1700000000123456789n });
    expect(events.at(-1)).toMatchObject({ eventType: "stop" });
    const samples = events.filter((event) => event.eventType === "sample");
    expect(samples.length).toBeGreaterThan(90);
    expect(samples.length).toBeLessThan(106);
    const allocated = samples.map((event) => event.allocatorAllocated!);
    expect([Math.min(...allocated), Math.max(...allocated)]).toEqual([MIB, 900 * MIB]);
    for (const event of samples) {
      expect(event).toMatchObject({
        collector: "stormlog.cpu_tracker",
        deviceId: -1,
        deviceTotal: null,
        deviceFree: null,
        pid: 4242,
        host: "ci",
      });
      expect([event.allocatorReserved, event.deviceUsed]).toEqual([event.allocatorAllocated, event.allocatorAllocated]);
    }
    expect(samples.reduce((sum, event) => sum + event.allocatorChange!, allocated[0]!)).toBe(allocated.at(-1));
  });

  it("events of a device run contain the devices only, with alerts raised once and the out-of-memory mark", () => {
    const events = telemetryEvents(deviceRun());
    expect(new Set(events.map((event) => event.deviceId))).toEqual(new Set([1]));
    expect(
      events
        .filter((event) => event.eventType === "sample")
        .every((event) => event.rank === 2 && event.worldSize === 4),
    ).toBe(true);
    expect(events.filter((event) => event.eventType === "warning")).toHaveLength(1);
    const critical = events.filter((event) => event.eventType === "critical");
    expect(critical.map((event) => Object.keys(event.metadata).at(-1))).toEqual(["oom_reason", "usage_percent"]);
    expect(events[1]!.collector).toBe("stormlog.cuda_tracker");
  });

  it("use the memory of the job's processes without an allocator counter, under our own collector name", () => {
    const tables = [
      table({
        device: "cuda:0",
        timeNs: Float64Array.of(0, 2e8, 4e8),
        columns: { used: Float64Array.of(5, 6, 7), total: Float64Array.of(6, 6, 6), job: Float64Array.of(3, 4, 5) },
      }),
    ];
    const samples = telemetryEvents(recording({ tables })).filter((event) => event.eventType === "sample");
    expect(samples.map((event) => [event.allocatorAllocated, event.deviceUsed, event.deviceTotal])).toEqual([
      [3, 5, 6],
      [4, 6, 6],
      [5, 7, null],
    ]);
    expect(samples[0]!.collector).toBe("stormlog_gate.device_sampler");
  });

  it("pass the validator and come back from JSON and CSV unchanged", () => {
    for (const run of [
      hostRun(),
      deviceRun(),
      recording({
        tables: [
          table({
            device: "mps:0",
            columns: {
              allocated: Float64Array.of(9, 9, 9),
              reserved: Float64Array.of(9, 9, 9),
              total: Float64Array.of(5, 5, 5),
            },
          }),
        ],
      }),
    ]) {
      const events = telemetryEvents(run);
      const json = eventsJson(events);
      expect(readJsonEvents(jsonValues([Buffer.from(json)], "j"), "j").events).toEqual(events);
      expect(readCsvEvents([Buffer.from(eventsCsv(events))], ",", "c").events).toEqual(events);
      const first = (JSON.parse(json) as Record<string, unknown>[])[0]!;
      expect(Object.keys(first)).toEqual([...EVENT_FIELDS]);
      expect(json).not.toMatch(/\d[eE.]\d+,?\n {4}"/);
    }
  });

  it("telemetry events are written with an indent of two, and quoted where CSV needs it", () => {
    const [event] = telemetryEvents(hostRun());
    expect(
      eventsJson([event!]).startsWith('[\n  {\n    "schema_version": 2,\n    "timestamp_ns": 1700000000123456789,\n'),
    ).toBe(true);
    expect(eventsCsv([{ ...event!, context: 'a "b",\nc' }])).toContain('"a ""b"",\nc"');
    expect(eventsJson([])).toBe("[]\n");
  });

  it("telemetry events are empty without a clock", () => {
    expect(telemetryEvents(recording({ tables: [table({ timeNs: null })] }))).toEqual([]);
  });
});

describe("alertsOf", () => {
  it("alertsOf raises an alert once per crossing, and again only after use has clearly fallen", () => {
    const percent = Float64Array.of(10, 81, 79, 82, 96, 94, 96, 70, 85, 99);
    const total = percent.map(() => 100);
    expect(alertsOf(percent, total, { warning: 80, critical: 95 }).map(({ row, level }) => [row, level])).toEqual([
      [1, "warning"],
      [4, "critical"],
      [8, "warning"],
      [9, "critical"],
    ]);
  });
});

describe("writeRunFiles", () => {
  it("writes everything, verifies the samples and only then removes the sampler's file", async () => {
    writeFileSync(file(RAW_RECORD_FILE), "raw");
    const run = {
      ...hostRun(),
      peaks: [
        { rank: 0, device: "host", metric: "host" as const, bytes: 901 * MIB, kind: "exact" as const, source: "VmHWM" },
      ],
    };
    const written = [...(await writeRunFiles(directory, run)).files];
    expect(written.sort()).toEqual(
      ["alerts.json", "events.json", "recording.json", SAMPLES_FILE, "stats.json", "timeline.json"].sort(),
    );
    expect(readdirSync(directory).sort()).toEqual(written);
    const json = (name: string) => JSON.parse(readFileSync(file(name), "utf8"));
    expect(json("stats.json")).toMatchObject({ mode: "cpu", peak_memory: 901 * MIB, backend: "cpu", alert_count: 0 });
    expect(json("timeline.json").timestamps.length).toBe(json("timeline.json").allocated.length);
    expect(json("alerts.json")).toEqual([]);
    expect(readRecordingInfo(directory).peaks).toEqual(run.peaks);
    const back = await readTelemetry(directory);
    expect(back).toMatchObject({ kind: "recording", format: "run-directory" });
    if (back.kind === "recording") expect(back.recording.tables).toEqual(run.tables);
  });

  it("writes events.csv on request, and names the run in every event", async () => {
    const { files } = await writeRunFiles(directory, hostRun(), { csv: true });
    expect(files).toContain("events.csv");
    const { session, scenario, run } = recordingInfo();
    const events = JSON.parse(readFileSync(file("events.json"), "utf8"));
    for (const event of events) expect(event.metadata.session_id).toBe(`${session}/${scenario}/${run}`);
  });

  it("writes no file that a telemetry loader would read for a run that is not a candidate", async () => {
    const { files } = await writeRunFiles(directory, { ...hostRun(), info: null }, { telemetry: false });
    expect(files).toEqual([SAMPLES_FILE]);
  });

  it("keeps the sampler's file when the samples cannot be written", async () => {
    writeFileSync(file(RAW_RECORD_FILE), "raw");
    expect(await codeOf(() => writeRunFiles(path.join(directory, "absent"), hostRun()))).toBe("RUN_FILE_WRITE_FAILED");
    expect(existsSync(file(RAW_RECORD_FILE))).toBe(true);
  });

  it("gives one-second bins and statistics per device, with all devices under series", async () => {
    const two = deviceRun();
    const other = { ...two.tables[0]!, device: "cuda:0" };
    await writeRunFiles(directory, { ...two, tables: [...two.tables, other] });
    const timeline = JSON.parse(readFileSync(file("timeline.json"), "utf8"));
    expect(timeline.timestamps).toHaveLength(10);
    expect(timeline.timestamps[1] - timeline.timestamps[0]).toBeCloseTo(1, 5);
    expect(timeline.series.map((entry: { device_id: number }) => entry.device_id)).toEqual([1, 0]);
    expect(JSON.parse(readFileSync(file("stats.json"), "utf8"))).toMatchObject({
      peak_memory: Math.round(9.8 * GIB),
      alert_count: 3,
      series: [{ device_id: 1 }, { device_id: 0 }],
    });
  });
});

describe("parseRecordingInfo", () => {
  it("accepts the written file and rejects a truncated, incomplete or newer one", async () => {
    const text = JSON.stringify(recordingInfo());
    expect(parseRecordingInfo(text, "r")).toEqual(recordingInfo());
    expect(await codeOf(() => parseRecordingInfo("", "r"))).toBe("INPUT_EMPTY");
    expect(await codeOf(() => parseRecordingInfo(text.slice(0, 80), "r"))).toBe("INPUT_TRUNCATED");
    expect(await codeOf(() => parseRecordingInfo(text.replace("recording/1", "recording/2"), "r"))).toBe(
      "INPUT_SCHEMA_VERSION",
    );
    expect(await codeOf(() => parseRecordingInfo('{"schema":"stormlog.recording/1"}', "r"))).toBe("RECORDING_INVALID");
    expect(await codeOf(() => readRecordingInfo(directory))).toBe("INPUT_NOT_FOUND");
  });

  it("skips peaks of metrics of a later version and reports each metric once", () => {
    const peak = { rank: 0, device: "host", metric: "host", bytes: 1, kind: "exact", source: "VmHWM" } as const;
    const text = JSON.stringify(recordingInfo({ peaks: [peak], cut: [{ rank: 0, device: "host", metric: "host" }] }));
    const { peaks, cut, lost } = parseRecordingInfo(text.replaceAll('"metric":"host"', '"metric":"newer"'), "r");
    expect({ peaks, cut, lost }).toEqual({
      peaks: [],
      cut: [],
      lost: ["the recording has the metric newer, unknown to this version: skipped"],
    });
  });
});

it.skipIf(STORMLOG_PYTHON === "")("Stormlog's own loader accepts the exported events", async () => {
  for (const run of [hostRun(), deviceRun()]) {
    await writeRunFiles(directory, run);
    const script = path.join(import.meta.dirname, "testing", "load-with-stormlog.py");
    const seen = JSON.parse(execFileSync(STORMLOG_PYTHON, [script, file("events.json")], { encoding: "utf8" }));
    const events = telemetryEvents(run);
    expect(seen.types).toEqual(events.map((event) => event.eventType));
    expect(seen.timestamps).toEqual(events.map((event) => String(event.timestampNs)));
    expect(seen.peak).toBe(Math.max(...events.map((event) => event.allocatorAllocated!)));
  }
});
