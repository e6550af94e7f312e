// The readers of outside files, each with files to start from. Run by fuzz-worker.ts.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { analyze } from "../../src/analysis/analyze.ts";
import { parseMeasurements } from "../../src/analysis/parse-measurements.ts";
import { parseStored } from "../../src/baseline/store.ts";
import { parseConfig } from "../../src/config/load.ts";
import { packageRoot } from "../../src/core/package-root.ts";
import { readRecords } from "../../src/github/artifacts/zip-entry.ts";
import { parseGenericCsv, parseNvidiaSmiCsv } from "../../src/inputs/foreign/delimited.ts";
import { readTelemetry } from "../../src/inputs/foreign/read.ts";
import { readJsonEvents } from "../../src/inputs/foreign/stormlog/event-source.ts";
import { eventsToRecording } from "../../src/inputs/foreign/stormlog/events-recording.ts";
import { jsonValues } from "../../src/inputs/foreign/stormlog/json-values.ts";
import { parseStormlogReport } from "../../src/report/documents/parse-report.ts";
import { sourceOf } from "../../src/snapshot/pickle/window.ts";
import { readSnapshot } from "../../src/snapshot/read.ts";
import { pickled } from "../../src/snapshot/testing/pickle-writer.ts";
import { plainSnapshot } from "../../src/snapshot/testing/snapshots.ts";
import { writeParquet } from "../../src/telemetry/formats/parquet.ts";
import { parseRecordFile } from "../../src/telemetry/reading/record-file.ts";
import { recordFileToRecording } from "../../src/telemetry/reading/record-recording.ts";
import type { Recording } from "../../src/telemetry/recording/model.ts";
import { recordBytes } from "../../src/telemetry/testing/record-bytes.ts";
import { recording } from "../../src/telemetry/testing/recordings.ts";
import { v2Record } from "../../src/telemetry/testing/stormlog-records.ts";
import { traceMlDatabase } from "../../src/telemetry/testing/traceml-database.ts";

export interface Reader {
  readonly name: string;
  /** Executions of a hundred; readers of text have a third together. */
  readonly share: number;
  readonly text: boolean;
  readonly corpus: readonly Uint8Array[];
  readonly read: (bytes: Uint8Array) => unknown;
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8");
/** Analyses every eighth input by its length, because analysing costs more than reading. */
const analysed = (bytes: Uint8Array, made: Recording): unknown => (bytes.length % 8 === 0 ? analyze(made) : made);

const lines = (header: string, count: number, line: (i: number) => string): Uint8Array =>
  bytesOf([header, ...Array.from({ length: count }, (_, i) => line(i))].join("\n"));

function recordFiles(): Uint8Array[] {
  const kinds = Array.from({ length: 40 }, (_, i) => i);
  return [1, 3].map((rounds) =>
    recordBytes(
      Array.from({ length: rounds * kinds.length }, (_, i) => ({
        timeNs: i * 5_000_000,
        kind: kinds[i % kinds.length] ?? 1,
        source: 2,
        id: i % 3,
        values: [1_000_000 + i, 2_000_000, i, 1],
      })),
    ),
  );
}

/** An uncompressed archive of one baseline record. */
function archive(text: string): Uint8Array {
  const [name, content] = [Buffer.from("train/0123456789abcdef.json"), Buffer.from(text)];
  const sizes = (to: Buffer, at: number) => {
    to.writeUInt32LE(content.length, at);
    to.writeUInt32LE(content.length, at + 4);
    to.writeUInt16LE(name.length, at + 8);
  };
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50, 0);
  sizes(local, 18);
  const central = Buffer.alloc(46);
  central.writeUInt32LE(0x02014b50, 0);
  sizes(central, 20);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length + name.length, 12);
  end.writeUInt32LE(local.length + name.length + content.length, 16);
  return Buffer.concat([local, name, content, central, name, end]);
}

const BASELINE = JSON.stringify({ schema: "stormlog.baseline/1", scenario: "train", fingerprint: {}, epochs: [] });
const CONFIG =
  "scenarios:\n  train:\n    run: node train.js\n    env: {A: '1'}\npolicy:\n  max-runs: 4\n  budget: {host: 2GiB}\n";

function documents(prefix: string): Uint8Array[] {
  const directory = path.join(packageRoot(), "test/documents/fixtures");
  const names = readdirSync(directory).filter((name) => name.startsWith(prefix));
  return names
    .map((name) => new Uint8Array(readFileSync(path.join(directory, name))))
    .filter(({ length }) => length < 20_000);
}

/** @returns the readers, and a function that removes their files */
export async function openReaders(): Promise<{ readonly readers: readonly Reader[]; readonly close: () => void }> {
  const directory = mkdtempSync(path.join(tmpdir(), "gate-fuzz-"));
  const file = path.join(directory, "input");
  const byFile = async (bytes: Uint8Array): Promise<unknown> => {
    writeFileSync(file, bytes);
    const telemetry = await readTelemetry(file);
    return telemetry.kind === "recording" ? analysed(bytes, telemetry.recording) : telemetry;
  };
  const parquet = path.join(directory, "a.parquet");
  writeParquet(parquet, recording());
  const rows = [1, 2, 3].map((step) => ({ rank: 0, step, alloc: step * 1000, reserved: 5000 }));
  const events = Array.from({ length: 4 }, (_, i) => JSON.stringify(v2Record({ rank: i, world_size: 4 }))).join("\n");
  const smi = "timestamp, index, memory.used [MiB], memory.total [MiB]";
  const readers: Reader[] = [
    {
      name: "snapshot",
      share: 34,
      text: false,
      corpus: [0, 4, 12].map((entries) => pickled(plainSnapshot(entries))),
      read: (bytes) => readSnapshot(sourceOf(bytes), "fuzz"),
    },
    {
      name: "record file",
      share: 20,
      text: false,
      corpus: recordFiles(),
      read: (bytes) => analysed(bytes, recordFileToRecording(parseRecordFile(bytes, "fuzz"), null)),
    },
    {
      name: "archive",
      share: 10,
      text: false,
      corpus: [archive(BASELINE)],
      read: (bytes) => readRecords(Buffer.from(bytes), "fuzz"),
    },
    { name: "parquet", share: 3, text: false, corpus: [new Uint8Array(readFileSync(parquet))], read: byFile },
    { name: "database", share: 1, text: false, corpus: [await traceMlDatabase(rows)], read: byFile },
    {
      name: "CSV",
      share: 6,
      text: true,
      corpus: [lines("time_s,rank,step,used_bytes,total_bytes", 20, (i) => `${i},${i % 2},${i},${1e6 + i},8e9`)],
      read: (bytes) => analysed(bytes, parseGenericCsv([bytes], ",", "fuzz").recording),
    },
    {
      name: "nvidia-smi",
      share: 6,
      text: true,
      corpus: [lines(smi, 20, (i) => `2024/01/01 00:00:${String(i).padStart(2, "0")}.000, ${i % 2}, ${i} MiB, 80 GiB`)],
      read: (bytes) => analysed(bytes, parseNvidiaSmiCsv([bytes], ",", "fuzz").recording),
    },
    {
      name: "events",
      share: 6,
      text: true,
      corpus: [bytesOf(events)],
      read: (bytes) =>
        analysed(bytes, eventsToRecording(readJsonEvents(jsonValues([bytes], "fuzz"), "fuzz").events, "fuzz")),
    },
    {
      name: "configuration",
      share: 4,
      text: true,
      corpus: [bytesOf(CONFIG)],
      read: (bytes) => parseConfig(textOf(bytes), "fuzz"),
    },
    {
      name: "measurements",
      share: 4,
      text: true,
      corpus: documents("measurements"),
      read: (bytes) => parseMeasurements(json(bytes), "fuzz"),
    },
    {
      name: "baseline",
      share: 3,
      text: true,
      corpus: [bytesOf(BASELINE)],
      read: (bytes) => parseStored("fuzz", textOf(bytes)),
    },
    {
      name: "report",
      share: 3,
      text: true,
      corpus: documents("report"),
      read: (bytes) => parseStormlogReport(json(bytes), "fuzz"),
    },
  ];
  return { readers, close: () => rmSync(directory, { recursive: true, force: true }) };
}

/** Readers of parsed documents are not given text that is not JSON: their callers refuse it. */
function json(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(textOf(bytes));
  } catch {
    return {};
  }
}
