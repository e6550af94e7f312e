import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { parquetWriteBuffer } from "hyparquet-writer";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GateError } from "../../core/errors.ts";
import { draws } from "../../core/testing/draws.ts";
import { RecordKind } from "../../sampler/record-layout.ts";
import { writeParquet } from "../../telemetry/formats/parquet.ts";
import { mergeRecordings } from "../../telemetry/reading/merge.ts";
import { fileError } from "../../telemetry/recording/input-file.ts";
import { writeRunFiles } from "../../telemetry/run-directory.ts";
import { recordBytes } from "../../telemetry/testing/record-bytes.ts";
import { recording, recordingInfo, table } from "../../telemetry/testing/recordings.ts";
import { v2Record } from "../../telemetry/testing/stormlog-records.ts";
import { readTelemetry } from "./read.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "read-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const put = (name: string, content: string | Uint8Array): string => {
  const file = path.join(directory, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
};
const failure = async (file: string): Promise<GateError | null> => {
  try {
    await readTelemetry(file);
  } catch (error) {
    if (error instanceof GateError) return error;
    throw error;
  }
  return null;
};
const event = JSON.stringify(v2Record());
const rec = recordBytes([
  { timeNs: 0, kind: RecordKind.tree, values: [10, 5, 0, 1] },
  { timeNs: 5e6, kind: RecordKind.stop, values: [1, 0, 0, 0] },
]);

describe("readTelemetry", () => {
  it("recognises formats by content, for any file name", async () => {
    const parquet = path.join(directory, "samples.txt");
    writeParquet(parquet, recording());
    const summary = {
      schema_version: "1.7",
      meta: { world_size: 2 },
      step_memory: {
        global: { window: { end_step: 90 } },
        groups: {
          rows: {
            "1": {
              identity: { global_rank: 1, local_rank: 1 },
              metrics: { peak_allocated_bytes: 5.5, peak_reserved_bytes: null },
            },
          },
        },
      },
    };
    const expected: [string, string][] = [
      [put("a", event), "stormlog-json"],
      [put("b.csv", `\n  [${event}]`), "stormlog-json"],
      [put("c.txt", `${event}\n${event}`), "stormlog-json"],
      [
        put("d.json", `${Object.keys(v2Record()).join(",")}\n2,17,sample,c,1,1,h,,0,0,1,0,1,2,,,0,3,,,,{}\n`),
        "stormlog-csv",
      ],
      [put("e.json", "step,allocated_bytes\n1,2\n"), "csv"],
      [put("e16.csv", Buffer.from("\ufeffstep;allocated_bytes\r\n1;2\r\n", "utf16le")), "csv"],
      [put("f.log", "timestamp, memory.used [MiB]\n2026/01/01 00:00:00.0, 5 MiB\n"), "nvidia-smi-csv"],
      [put("g.csv", rec), "record-file"],
      [parquet, "parquet"],
      [put("s", JSON.stringify(summary)), "traceml-summary"],
    ];
    for (const [file, format] of expected)
      expect(await readTelemetry(file), file).toMatchObject({ kind: "recording", format });
  });

  it("reports a TraceML summary of another version, or without ranks", async () => {
    expect((await failure(put("v", '{"schema_version":"2.0","meta":{},"step_memory":{}}')))?.code).toBe(
      "INPUT_SCHEMA_VERSION",
    );
    expect((await failure(put("w", '{"schema_version":"1.7","meta":{},"step_memory":{}}')))?.code).toBe("INPUT_EMPTY");
  });

  it("returns measurement and baseline documents unchanged", async () => {
    const document = { schema: "stormlog.measurements/1", scenario: "s", runs: [] };
    expect(await readTelemetry(put("m", JSON.stringify(document)))).toEqual({ kind: "measurements", document });
    expect(await readTelemetry(put("b", '{"schema":"stormlog.baseline/1"}'))).toMatchObject({ kind: "baseline" });
    expect((await failure(put("m2", '{"schema":"stormlog.measurements/2"}')))?.code).toBe("INPUT_SCHEMA_VERSION");
    expect((await failure(put("b9", '{"schema":"stormlog.baseline/9"}')))?.code).toBe("INPUT_SCHEMA_VERSION");
    expect((await failure(put("x", '{"schema":"stormlog.analysis/1"}')))?.code).toBe("INPUT_UNKNOWN_FORMAT");
  });

  it("closes every file, whether it is read to its end, recognised by its first value or refused", async () => {
    const files = [
      '{"schema":"stormlog.measurements/1","scenario":"s","runs":[]}',
      '{"schema":"stormlog.baseline/1"}',
      '{"schema":"stormlog.analysis/1"}',
      '{"timestamps":[1.5,2.5],"allocated":[1,2],"reserved":[3,4]}',
      '{"traceEvents":[{"name":"[memory]","ts":1,"args":{"Bytes":5}}]}',
      '{"schema_version":"1.7","meta":{},"step_memory":{}}',
      `${event}\n{"broken`,
      `[${event},]`,
      "step,allocated_bytes\n1,x\n",
    ].map((text, i) => put(`one-${i}`, text));
    // The system gives out the lowest free number, so a file that stayed open raises it.
    const nextDescriptor = () => {
      const descriptor = openSync(files[0] ?? "", "r");
      closeSync(descriptor);
      return descriptor;
    };
    const before = nextDescriptor();
    for (const file of files) {
      await failure(file);
      expect(nextDescriptor(), file).toBe(before);
    }
  });

  it("a Parquet file of another tool is refused with the command that converts it", async () => {
    const columns = [{ name: "used_bytes", data: [1n, 2n], type: "INT64" as const }];
    const file = put("a.parquet", new Uint8Array(parquetWriteBuffer({ columnData: columns })));
    expect(await failure(file)).toMatchObject({
      code: "INPUT_UNKNOWN_FORMAT",
      hint: expect.stringContaining("to_csv"),
    });
  });

  it("reports each bad input with its own code, exit 5 and the file's name", async () => {
    mkdirSync(path.join(directory, "somewhere"));
    const bad: [string, string][] = [
      [path.join(directory, "absent"), "INPUT_NOT_FOUND"],
      [path.join(directory, "somewhere"), "INPUT_IS_DIRECTORY"],
      [put("empty", ""), "INPUT_EMPTY"],
      [put("blank", " \n\t\n"), "INPUT_EMPTY"],
      [put("bom", "\ufeff"), "INPUT_EMPTY"],
      [put("cut.json", `[${event},${event.slice(0, 90)}`), "INPUT_TRUNCATED"],
      [put("cut.csv", "step,rank,allocated_bytes\n1,0,5\n2,"), "INPUT_TRUNCATED"],
      [put("cut.parquet", "PAR1 and no more"), "INPUT_TRUNCATED"],
      [put("cut.rec", rec.subarray(0, 30)), "INPUT_TRUNCATED"],
      [put("wrong.json", "[{a:1}]"), "INPUT_MALFORMED"],
      [put("v5.json", JSON.stringify(v2Record({ schema_version: 5 }))), "INPUT_SCHEMA_VERSION"],
      [put("negative.json", JSON.stringify(v2Record({ allocator_reserved_bytes: -1 }))), "NEGATIVE_BYTES"],
      [put("nan.json", event.replace(":3000", ":NaN")), "TELEMETRY_INVALID"],
      [put("negative.csv", "step,allocated_bytes\n1,-5\n"), "NEGATIVE_BYTES"],
      [put("zeros", Buffer.alloc(200_000)), "INPUT_UNKNOWN_FORMAT"],
      [put("prose.txt", "Dear reader, this is not telemetry.\n"), "INPUT_UNKNOWN_FORMAT"],
      [put("other.json", '{"loss": 1}'), "INPUT_UNKNOWN_FORMAT"],
      [put("db", "SQLite format 3\u0000rest"), "SQLITE_UNREADABLE"],
      [put("snapshot.pickle", Buffer.from([0x80, 4, 0x95])), "SNAPSHOT_UNSUPPORTED"],
      [put("snapshot.json", '{"segments": [], "device_traces": []}'), "SNAPSHOT_UNSUPPORTED"],
      [put("trace.json", '{"traceEvents":[{"name":"[memory]","ts":1,"args":{"Bytes":5}}]}'), "TRACE_UNSUPPORTED"],
      [put("a.gz", Buffer.from([0x1f, 0x8b, 8])), "INPUT_COMPRESSED"],
      ["/dev/null", "INPUT_NOT_A_FILE"],
    ];
    for (const [file, code] of bad) {
      const error = await failure(file);
      expect([file, error?.code, error?.exitCode]).toEqual([file, code, 5]);
      expect(error?.where).toContain(file);
    }
  });

  it("reports a file that the system refuses, with the reason", () => {
    const refusal = (code: string) => fileError(Object.assign(new Error("no"), { code }), "f");
    expect(["EACCES", "EPERM", "ENOENT", "EISDIR", "EIO"].map((code) => refusal(code).code)).toEqual([
      "INPUT_NO_PERMISSION",
      "INPUT_NO_PERMISSION",
      "INPUT_NOT_FOUND",
      "INPUT_IS_DIRECTORY",
      "INPUT_UNREADABLE",
    ]);
    expect(refusal("EIO")).toMatchObject({ exitCode: 5, where: "f" });
  });

  it("reads a bundle, run by run in numeric order, including a run whose gate was killed", async () => {
    for (const number of [1, 2, 10]) {
      const run = path.join(directory, "runs", "train", String(number));
      mkdirSync(run, { recursive: true });
      await writeRunFiles(run, recording({ info: recordingInfo({ run: number }) }));
    }
    put("runs/nested/name/1/samples.rec", rec.subarray(0, rec.length - 10));
    put("runs/nested/name/1/recording.json", JSON.stringify(recordingInfo({ complete: false })));
    put("runs/train/3/samples.rec", "");
    const bundle = await readTelemetry(directory);
    if (bundle.kind !== "runs") throw new Error("not a bundle");
    expect(bundle.runs.map((run) => run.name)).toEqual(["nested/name/1", "train/1", "train/2", "train/10"]);
    expect(bundle.runs[0]!.recording.tables[0]!.timeNs).toHaveLength(1);
    expect(bundle.notes.join("\n")).toContain("ends within a record");
    expect(bundle.notes.join("\n")).toContain("train/3: not read: the record file is empty");
    expect(bundle.runs[3]!.recording.info?.run).toBe(10);
  });

  it("falls back to the sampler's file when the Parquet file beside it is damaged", async () => {
    put("recording.json", JSON.stringify(recordingInfo()));
    put("samples.parquet", "PAR1");
    put("samples.rec", rec);
    const run = await readTelemetry(directory);
    expect(run).toMatchObject({ kind: "recording", format: "run-directory" });
    rmSync(path.join(directory, "samples.rec"));
    expect((await failure(directory))?.code).toBe("PARQUET_UNREADABLE");
  });

  it("reads Stormlog's own directories: a dump, a sink's segments, a diagnosis", async () => {
    put(
      "dump/events.json",
      JSON.stringify([{ timestamp: 1, memory_allocated: 5, memory_reserved: 6, device_used: 9, device_total: 10 }]),
    );
    const dump = await readTelemetry(path.join(directory, "dump"));
    if (dump.kind !== "recording") throw new Error("not a recording");
    expect([...dump.recording.tables[0]!.columns.used!]).toEqual([9]);
    put(
      "dump/metadata.json",
      JSON.stringify({ reason: "message_pattern:out of memory", exception_message: "CUDA out of memory" }),
    );
    const oomDump = await readTelemetry(path.join(directory, "dump"));
    if (oomDump.kind !== "recording") throw new Error("not a recording");
    expect(oomDump.recording.marks).toEqual([{ timeNs: 0, kind: "oom", text: "CUDA out of memory" }]);
    for (const second of [1, 2]) {
      const directory = `dumps/oom_dump_2026010${second}T000000Z_7_cuda_1`;
      put(`${directory}/events.json`, JSON.stringify([{ timestamp: second, memory_allocated: 5, memory_reserved: 6 }]));
    }
    put("dumps/oom_dump_20260103T000000Z_7_cuda_1/manifest.json", "{}");
    const dumps = await readTelemetry(path.join(directory, "dumps"));
    expect(dumps).toMatchObject({
      kind: "runs",
      runs: [{ name: "oom_dump_20260101T000000Z_7_cuda_1" }, { name: "oom_dump_20260102T000000Z_7_cuda_1" }],
    });
    put("sink/0001.jsonl", `${event}\n`);
    put("sink/0002.jsonl", `${event}\n${event}\n`);
    const sink = await readTelemetry(path.join(directory, "sink"));
    if (sink.kind !== "recording") throw new Error("not a recording");
    expect(sink.recording.events).toHaveLength(3);
  });

  it("fails only with a GateError", async () => {
    const start = fc.constantFrom(
      "",
      "{",
      "[",
      "PAR1",
      "SLGREC\u0001\n",
      "step,allocated_bytes\n",
      '{"traceEvents":[',
      "\ufeff",
    );
    await fc.assert(
      fc.asyncProperty(start, fc.uint8Array({ maxLength: 200 }), async (prefix, bytes) => {
        await failure(put("any", Buffer.concat([Buffer.from(prefix), bytes])));
      }),
      { numRuns: draws(200) },
    );
  });
});

describe("mergeRecordings", () => {
  it("puts shards on one clock, adds missing counts and keeps the largest world size", () => {
    const shard = (rank: number, epochNs: bigint) =>
      recording({
        epochNs,
        tables: [table({ rank, timeNs: Float64Array.of(0, 10, 20) })],
        worldSize: rank + 1,
        missing: { a: rank },
        marks: [{ timeNs: 5, kind: "phase", text: String(rank) }],
      });
    const merged = mergeRecordings([shard(1, 2000n), shard(0, 1000n), shard(2, 1500n)]);
    expect(merged.epochNs).toBe(1000n);
    expect(merged.tables.map(({ rank, timeNs }) => [rank, timeNs![0]])).toEqual([
      [0, 0],
      [1, 1000],
      [2, 500],
    ]);
    expect(merged.marks.map((mark) => [mark.text, mark.timeNs])).toEqual([
      ["0", 5],
      ["2", 505],
      ["1", 1005],
    ]);
    expect(merged).toMatchObject({ worldSize: 3, missing: { a: 3 }, events: null });
  });

  it("keeps clocks unchanged when a shard has none", () => {
    const merged = mergeRecordings([recording(), recording({ epochNs: null, tables: [table({ rank: 1 })] })]);
    expect(merged.epochNs).toBeNull();
    expect(merged.tables[1]!.timeNs![1]).toBe(5e6);
  });

  it("rejects two files with the same rank and device, naming both", () => {
    expect(() => mergeRecordings([recording(), recording()], ["a.json", "b.json"])).toThrow(
      "rank 0 on host is in two files: a.json and b.json",
    );
  });
});
