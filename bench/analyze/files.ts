import { closeSync, openSync, writeSync } from "node:fs";
import { RecordKind, RecordSource } from "../../src/sampler/record-layout.ts";
import { RecordWriter } from "../../src/sampler/record-writer.ts";
import { writeParquet } from "../../src/telemetry/formats/parquet.ts";
import { benchRecording, METRICS_PER_RANK, RANKS } from "./recording.ts";

/** Formats a long recording comes in. */
export const FILE_FORMATS = ["parquet", "record", "csv"] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

const FLUSH_BYTES = 4 << 20;

/** Bytes that go to a file a few MiB at a time. */
class Sink {
  readonly buffer = Buffer.alloc(FLUSH_BYTES + 4096);
  at = 0;
  readonly #descriptor: number;

  constructor(path: string) {
    this.#descriptor = openSync(path, "w");
  }

  flushWhenFull(): void {
    if (this.at >= FLUSH_BYTES) this.#flush();
  }

  close(): void {
    this.#flush();
    closeSync(this.#descriptor);
  }

  #flush(): void {
    for (let from = 0; from < this.at; ) from += writeSync(this.#descriptor, this.buffer, from, this.at - from);
    this.at = 0;
  }
}

/** The recording as a text table: eight ranks whose rows interleave, as one logger writes them. */
function writeCsv(path: string, values: number): void {
  const { tables } = benchRecording(values);
  const sink = new Sink(path);
  const names = Object.keys(tables[0]?.columns ?? {});
  sink.at += sink.buffer.write(`rank,device,timestamp_ns,step,${names.map((name) => `${name}_bytes`).join(",")}\n`);
  const rows = tables[0]?.timeNs?.length ?? 0;
  for (let i = 0; i < rows; i++) {
    for (const { rank, device, timeNs, steps, columns } of tables) {
      const cells = Object.values(columns).map((column) => column[i]);
      sink.at += sink.buffer.write(`${rank},${device},${timeNs?.[i]},${steps?.[i]},${cells.join(",")}\n`, sink.at);
    }
    sink.flushWhenFull();
  }
  sink.close();
}

/**
 * The record file: the process tree at every tick and eight devices, four values a record. A device has `used`,
 * `total`, `free` and the driver's reserve.
 */
function writeRecords(path: string, values: number): void {
  const period = 5_000_000;
  const start = { monotonicStartNs: 1n, epochNs: 1_700_000_000_000_000_000n, rootPid: 1, pageSize: 4096 };
  const writer = new RecordWriter(path, { ...start, hostPeriodNs: period, devicePeriodNs: period });
  const ticks = Math.ceil(values / METRICS_PER_RANK / (RANKS + 1));
  const total = 80 * 2 ** 30;
  for (let tick = 0; tick < ticks; tick++) {
    const at = tick * period;
    const anon = 5e9 + 4096 * ((tick * 7919) % 20_011);
    writer.add(at, RecordKind.tree, -1, [anon + 1e8, anon, 2 ** 20, 3], RecordSource.tree);
    for (let device = 0; device < RANKS; device++) {
      const leak = device === 3 ? Math.floor((2000 * tick) / ticks) : 0;
      const used = 2 ** 21 * (10_000 + ((tick * 31 + device) % 1009) + leak);
      writer.add(at, RecordKind.device, device, [used, total, total - used, 6e8], RecordSource.nvml);
    }
  }
  writer.add(ticks * period, RecordKind.stop, -1, [ticks, 0, 0, 0]);
  writer.close(ticks * period);
  if (writer.error !== null) throw new Error(writer.error);
}

/** Writes a recording of about `values` values. */
export function writeBenchFile(format: FileFormat, path: string, values: number): void {
  switch (format) {
    case "parquet":
      writeParquet(path, benchRecording(values));
      return;
    case "record":
      writeRecords(path, values);
      return;
    case "csv":
      writeCsv(path, values);
      return;
    default:
      format satisfies never;
  }
}
