import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GateError } from "../../../core/errors.ts";
import { draws } from "../../../core/testing/draws.ts";
import { capabilities, v2Record } from "../../../telemetry/testing/stormlog-records.ts";
import { readCsvEvents, readJsonEvents } from "./event-source.ts";
import { eventsToRecording, unorderedEvents } from "./events-recording.ts";
import { RecordProblem } from "./fields.ts";
import { jsonValues, parseRecord } from "./json-values.ts";
import { eventOf } from "./validate.ts";

const events = (text: string) => readJsonEvents(jsonValues([Buffer.from(text)], "e.json"), "e.json").events;
const failure = (work: () => unknown): { code: string; message: string; where: string | undefined } => {
  try {
    work();
  } catch (error) {
    if (error instanceof GateError) return { code: error.code, message: error.message, where: error.where };
    throw error;
  }
  return { code: "none", message: "", where: undefined };
};
const problem = (changes: Record<string, unknown>, source = JSON.stringify(v2Record(changes))): string => {
  try {
    eventOf(parseRecord(source, "r")!);
  } catch (error) {
    if (error instanceof RecordProblem) return error.message;
    throw error;
  }
  return "valid";
};

describe("a version 2 record", () => {
  it("a version 2 record is read into its canonical form", () => {
    expect(events(JSON.stringify(v2Record()))[0]).toEqual({
      timestampNs: 1700000000000n,
      eventType: "sample",
      collector: "stormlog.cuda_tracker",
      samplingIntervalMs: 100,
      pid: 12,
      host: "gpu-ci",
      jobId: null,
      rank: 0,
      localRank: 0,
      worldSize: 1,
      deviceId: 0,
      allocatorAllocated: 1000,
      allocatorReserved: 2000,
      allocatorActive: null,
      allocatorInactive: null,
      allocatorChange: 0,
      deviceUsed: 3000,
      deviceFree: 7000,
      deviceTotal: 10000,
      context: null,
      metadata: {},
    });
  });

  it.each([
    [{ host: undefined, context: undefined }, "Missing required telemetry fields: host, context"],
    [{ zeta: 1, alpha: 2 }, "Unknown telemetry fields: alpha, zeta"],
    [{ schema_version: "2" }, "schema_version must be an integer"],
    [{ schema_version: true }, "schema_version must be an integer"],
    [{ schema_version: null }, "schema_version must be an integer"],
    [{ schema_version: 5 }, "Unsupported schema_version: 5"],
    [{ schema_version: 1 }, "Unsupported schema_version: 1"],
    [{ timestamp_ns: -1 }, "timestamp_ns must be >= 0"],
    [{ timestamp_ns: "1" }, "timestamp_ns must be an integer"],
    [{ event_type: " " }, "event_type must be a non-empty string"],
    [{ collector: "" }, "collector must be a non-empty string"],
    [{ host: "" }, "host must be a non-empty string"],
    [{ job_id: " " }, "job_id must be a non-empty string"],
    [{ sampling_interval_ms: -1 }, "sampling_interval_ms must be >= 0"],
    [{ pid: -2 }, "pid must be >= -1"],
    [{ device_id: true }, "device_id must be an integer"],
    [{ allocator_allocated_bytes: -1 }, "allocator_allocated_bytes must be >= 0"],
    [{ allocator_allocated_bytes: null }, "allocator_allocated_bytes must be an integer"],
    [{ allocator_active_bytes: -1 }, "allocator_active_bytes must be >= 0 when provided"],
    [{ allocator_inactive_bytes: -1 }, "allocator_inactive_bytes must be >= 0 when provided"],
    [{ device_used_bytes: -1 }, "device_used_bytes must be >= 0"],
    [{ device_free_bytes: -1 }, "device_free_bytes must be >= 0 when provided"],
    [{ device_total_bytes: -1 }, "device_total_bytes must be >= 0 when provided"],
    [{ device_used_bytes: 10_001 }, "device_used_bytes cannot exceed device_total_bytes"],
    [{ device_free_bytes: 10_001 }, "device_free_bytes cannot exceed device_total_bytes"],
    [{ context: 5 }, "context must be a string"],
    [{ metadata: null }, "metadata must be an object"],
    [{ metadata: [] }, "metadata must be an object"],
    [{ world_size: 0 }, "world_size must be >= 1"],
    [{ rank: 1 }, "rank must be < world_size"],
    [{ rank: 0, local_rank: 1 }, "local_rank must be < world_size"],
    [{ rank: null }, "rank must be an integer"],
    [{ context: "", device_total_bytes: null, device_free_bytes: null, device_used_bytes: 99_999 }, "valid"],
    [{ allocator_allocated_bytes: 9000, allocator_reserved_bytes: 1 }, "valid"],
    [{ job_id: undefined, rank: undefined, local_rank: undefined, world_size: undefined }, "valid"],
  ])("a version 2 record with %j gives %j", (changes, message) => {
    expect(problem(changes)).toBe(message);
  });

  it("rejects a number written as a fraction, also an integral one", () => {
    const text = JSON.stringify(v2Record()).replace('"device_used_bytes":3000', '"device_used_bytes":3000.0');
    expect(problem({}, text)).toBe("device_used_bytes must be an integer");
    expect(problem({}, text.replace("3000.0", "3e3"))).toBe("device_used_bytes must be an integer");
    expect(problem({}, text.replace("3000.0", "NaN"))).toBe("device_used_bytes must be an integer");
  });

  it("keeps fractions inside metadata and texts", () => {
    expect(problem({ metadata: { usage_percent: 83.2 }, context: 'peak 580.00 MB, {"a": 1.5}' })).toBe("valid");
  });
});

describe("time stamps", () => {
  it("time stamps stay exact beyond 2^53, beside other long digits", () => {
    const plain = JSON.stringify(v2Record({ timestamp_ns: 7 })).replace(":7,", ":1700000000123456789,");
    expect(events(plain)[0]!.timestampNs).toBe(1700000000123456789n);
    const crowded = JSON.stringify(
      v2Record({ metadata: { timestamp_ns: 8 }, context: 'said "timestamp_ns": 1700000000000000001' }),
    )
      .replace(":1700000000000,", ":1700000000123456789,")
      .replace('"timestamp_ns":8', '"timestamp_ns":1700000000123456777');
    expect(events(`[${crowded}]`)[0]!.timestampNs).toBe(1700000000123456789n);
  });
});

describe("versions 3 and 4", () => {
  it("version 3 needs a session", () => {
    expect(problem({ schema_version: 3 })).toBe("Missing required telemetry fields: session_id");
    expect(problem({ schema_version: 3, session_id: "s" })).toBe("valid");
    expect(problem({ schema_version: 2, session_id: "s" })).toBe("Unknown telemetry fields: session_id");
  });

  it("version 4 accepts null counters that its capabilities explain, and no others", () => {
    const v4 = (more: Record<string, unknown>, caps = capabilities(), partial?: string[]) =>
      problem({
        schema_version: 4,
        session_id: "s",
        metadata: { memory_capabilities: caps, ...(partial ? { collector_partial_fields: partial } : {}) },
        ...more,
      });
    expect(v4({})).toBe("valid");
    expect(v4({ device_used_bytes: null })).toContain("collector_partial_fields");
    expect(v4({ device_used_bytes: null }, capabilities(), ["device_used_bytes"])).toBe("valid");
    const none = capabilities({ supports_allocator_allocated: false });
    expect(v4({}, none)).toBe("allocator_allocated_bytes must be null when supports_allocator_allocated is false");
    expect(v4({ allocator_allocated_bytes: null, allocator_change_bytes: null }, none)).toBe("valid");
    expect(v4({}, capabilities({ extra: 1 }))).toContain("exactly the keys");
    expect(v4({}, capabilities({ backend: " " }))).toContain("backend must be a non-empty string");
    expect(v4({ metadata: {} })).toBe("metadata.memory_capabilities must be an object");
    expect(v4({ device_used_bytes: 10_001 })).toBe("device_used_bytes cannot exceed device_total_bytes");
  });
});

describe("a legacy record", () => {
  const one = (record: Record<string, unknown>) => events(JSON.stringify(record))[0]!;

  it("reads each field from the first source that has it", () => {
    expect(
      one({
        timestamp: 1700000000.25,
        type: "allocation",
        device: "cuda:3",
        memory_allocated: 10,
        memory_reserved: 20,
        memory_change: -5,
        total_memory: 100,
        message: "hi",
        metadata_tag: "x",
        metadata: { rank: 1, world_size: 2, keep: 1 },
      }),
    ).toMatchObject({
      timestampNs: 1700000000249999872n,
      eventType: "allocation",
      collector: "stormlog.cuda_tracker",
      deviceId: 3,
      allocatorAllocated: 10,
      allocatorReserved: 20,
      allocatorChange: -5,
      deviceUsed: 10,
      deviceFree: 90,
      deviceTotal: 100,
      pid: -1,
      host: "unknown",
      rank: 1,
      localRank: 1,
      worldSize: 2,
      context: "hi",
      metadata: { keep: 1, tag: "x" },
    });
  });

  it("a legacy record may be of TensorFlow, a CPU device or another backend", () => {
    expect(one({ timestamp: 1, memory_mb: 1.5 })).toMatchObject({
      deviceId: 0,
      allocatorAllocated: 1572864,
      collector: "stormlog.tensorflow.memory_tracker",
      eventType: "sample",
    });
    expect(one({ timestamp: 1, memory_allocated: 5, device: "cpu" })).toMatchObject({
      deviceId: -1,
      collector: "stormlog.cpu_tracker",
    });
    expect(one({ timestamp: 1, backend: "MPS " })).toMatchObject({
      collector: "stormlog.mps_tracker",
      allocatorAllocated: 0,
    });
    expect(one({ timestamp: 1, device: "/GPU:0" })).toMatchObject({ deviceId: 0, collector: "legacy.unknown" });
  });

  it("keeps device memory of an out-of-memory dump, which has older names", () => {
    const dumped = one({
      timestamp: 1,
      memory_allocated: 5,
      memory_reserved: 6,
      device_used: 9,
      device_free: 1,
      device_total: 10,
      active_memory: 4,
      inactive_memory: null,
    });
    expect(dumped).toMatchObject({
      deviceUsed: 9,
      deviceFree: 1,
      deviceTotal: 10,
      allocatorActive: 4,
      allocatorInactive: null,
    });
  });

  it("a legacy record needs a timestamp", () => {
    expect(failure(() => events('{"memory_allocated": 5}')).message).toBe("Legacy record is missing a valid timestamp");
  });
});

describe("payloads", () => {
  const record = JSON.stringify(v2Record());

  it("a payload may be an array, an events list, one event, or one event per line", () => {
    const pretty = JSON.stringify({ name: "x", events: [v2Record(), v2Record()] }, null, 2);
    for (const [text, count] of [
      [`[${record},\n${record}]`, 2],
      [pretty, 2],
      [record, 1],
      [`${record}\n${record}\r\n\n${record}`, 3],
    ] as const) {
      expect(events(text)).toHaveLength(count);
    }
    const exact = pretty.replaceAll("1700000000000", "1700000000123456789");
    expect(events(exact)[1]!.timestampNs).toBe(1700000000123456789n);
  });

  it("the error of an invalid payload names file and record, with a code", () => {
    const bad = JSON.stringify(v2Record({ device_used_bytes: -1 }));
    expect(failure(() => events(`[${record},${bad}]`))).toEqual({
      code: "NEGATIVE_BYTES",
      message: "device_used_bytes must be >= 0",
      where: "e.json: event 1",
    });
    expect(failure(() => events(JSON.stringify(v2Record({ schema_version: 9 })))).code).toBe("INPUT_SCHEMA_VERSION");
    expect(failure(() => events("[1]")).message).toBe("Event at index 0 must be an object");
    expect(failure(() => events('{"a":1}')).message).toBe("JSON payload does not contain telemetry events");
    expect(failure(() => events("[]")).code).toBe("INPUT_EMPTY");
  });

  it("a payload is reported as truncated when it ends early, and as malformed when it is invalid", () => {
    const text = `[${record}, ${record}]`;
    for (let size = 1; size < text.length; size += 7)
      expect(failure(() => events(text.slice(0, size))).code).toBe("INPUT_TRUNCATED");
    for (const wrong of [`[${record},]`, "[,]", `${record}}`, `[${record}] x`, `[${record} ${record}]`, "{a:1}"]) {
      expect(failure(() => events(wrong)).code).toBe("INPUT_MALFORMED");
    }
  });

  it("fails only with a GateError", () => {
    const value = fc.oneof(fc.jsonValue(), fc.constantFrom("sample", 2, -1, 1e300, null, {}));
    const key = fc.constantFrom(
      ...Object.keys(v2Record()),
      "timestamp",
      "memory_allocated",
      "events",
      "memory_mb",
      "device",
    );
    fc.assert(
      fc.property(fc.dictionary(key, value), fc.boolean(), (changes, whole) => {
        failure(() => events(JSON.stringify(whole ? { ...v2Record(), ...changes } : changes)));
      }),
      { numRuns: draws(500) },
    );
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(...'[]{},:"\\ 1e.-nN\n') }),
        (text) => void failure(() => events(text)),
      ),
      { numRuns: draws(500) },
    );
  });
});

describe("CSV exports", () => {
  const header = Object.keys(v2Record()).join(",");
  const row = (metadata: string) =>
    `2,1700000000123456789,sample,stormlog.cuda_tracker,100,12,gpu,,0,0,1,0,1000,2000,,,0,3000.0,7000,10000,"a, b",${metadata}`;
  const csv = (text: string) => readCsvEvents([Buffer.from(text)], ",", "e.csv");

  it("CSV exports are read with exact time stamps, empty cells as null and metadata as JSON", () => {
    const { events: read, notes } = csv(`${header}\n${row('"{""backend"": ""cuda""}"')}\n`);
    expect(read[0]).toMatchObject({
      timestampNs: 1700000000123456789n,
      jobId: null,
      allocatorActive: null,
      deviceUsed: 3000,
      context: "a, b",
      metadata: { backend: "cuda" },
    });
    expect(notes).toEqual([]);
  });

  it("CSV exports are read with metadata as Python prints it, and a note when it is neither that nor JSON", () => {
    const printed = String.raw`"{'backend': 'cuda', 'x': {'y': [True, -2.5e3, None, nan, -inf]}, ""it's"": 'a\'b\n\x41\u00e9\\'}"`;
    const { events: read, notes } = csv(`${header}\n${row(printed)}\n${row("<object at 0x7f>")}\n`);
    expect(read[0]!.metadata).toEqual({
      backend: "cuda",
      x: { y: [true, -2500, null, null, null] },
      "it's": "a'b\nAé\\",
    });
    expect(read[1]!.metadata).toEqual({});
    expect(notes).toHaveLength(1);
  });

  it("the error of a CSV export names the line of an invalid record, or an incomplete last line", () => {
    expect(failure(() => csv(`${header}\n${row("{}")}\n${row("{}").replace("1000", "-1")}\n`))).toEqual({
      code: "NEGATIVE_BYTES",
      message: "allocator_allocated_bytes must be >= 0",
      where: "e.csv: line 3",
    });
    expect(failure(() => csv(`${header}\n${row("{}").slice(0, 60)}`)).code).toBe("INPUT_TRUNCATED");
  });

  it("CSV exports of older releases are converted", () => {
    const { events: read } = csv(
      "timestamp,event_type,memory_allocated,memory_reserved,device_id\n1700000000.5,allocation,5,6,0\n",
    );
    expect(read[0]).toMatchObject({
      eventType: "allocation",
      allocatorAllocated: 5,
      collector: "stormlog.cuda_tracker",
    });
  });
});

describe("eventsToRecording", () => {
  const made = (records: Record<string, unknown>[]) => events(JSON.stringify(records));

  it("makes one table per rank and device from samples, keeps all events and the largest world size", () => {
    const all = made([
      v2Record({ event_type: "start", allocator_allocated_bytes: 0 }),
      v2Record({ rank: 1, local_rank: 1, world_size: 2, timestamp_ns: 1_700_000_000_300 }),
      v2Record({ timestamp_ns: 1_700_000_000_100, allocator_allocated_bytes: 1500 }),
      v2Record({ device_id: -1, device_total_bytes: null, device_free_bytes: null }),
    ]);
    const recording = eventsToRecording(all, "events");
    expect(recording.tables.map(({ rank, device }) => [rank, device])).toEqual([
      [0, "cuda:0"],
      [0, "host"],
      [1, "cuda:0"],
    ]);
    expect([...recording.tables[0]!.columns.allocated!]).toEqual([1500]);
    expect([...recording.tables[0]!.timeNs!]).toEqual([100]);
    expect(recording.tables[1]!.columns).not.toHaveProperty("total");
    expect(recording).toMatchObject({ epochNs: 1700000000000n, worldSize: 2 });
    expect(recording.events).toHaveLength(4);
  });

  it("uses the counters of change-only exports without samples", () => {
    const all = made(
      ["start", "allocation", "peak", "error", "stop"].map((type, i) =>
        v2Record({ event_type: type, allocator_allocated_bytes: i }),
      ),
    );
    expect([...eventsToRecording(all, "events").tables[0]!.columns.allocated!]).toEqual([1, 2]);
  });

  it("keeps file order and counts timestamps that do not advance", () => {
    const all = made([3, 1, 1, 2].map((time) => v2Record({ timestamp_ns: time })));
    expect(unorderedEvents(all)).toBe(2);
    expect([...eventsToRecording(all, "events").tables[0]!.timeNs!]).toEqual([2, 0, 0, 1]);
  });
});
