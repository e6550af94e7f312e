import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import type { FileMetaData, SchemaElement } from "hyparquet";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import * as v from "valibot";
import { GateError, invalidInput } from "../core/errors.ts";
import { fileError, statInput } from "./input-file.ts";
import { COLUMNS, type Column, METRICS, type Recording, type SampleTable } from "./model.ts";

/** Key of the file's own metadata that says what the rows cannot: which table has which columns, epoch, marks, peaks. */
const LAYOUT_KEY = "stormlog.recording";
const ROWS_PER_GROUP = 100_000;
const FLUSH_BYTES = 1 << 20;

const ColumnName = v.picklist(COLUMNS);
const LayoutSchema = v.object({
  version: v.literal(1),
  epoch_ns: v.nullable(v.pipe(v.string(), v.regex(/^-?\d+$/))),
  world_size: v.nullable(v.number()),
  missing: v.record(v.string(), v.number()),
  tables: v.array(
    v.object({
      rank: v.number(),
      device: v.string(),
      rows: v.pipe(v.number(), v.integer(), v.minValue(0)),
      time: v.boolean(),
      steps: v.boolean(),
      columns: v.array(ColumnName),
      highwater: v.array(ColumnName),
    }),
  ),
  peaks: v.array(
    v.object({
      rank: v.number(),
      device: v.string(),
      metric: v.picklist(METRICS),
      bytes: v.number(),
      kind: v.picklist(["exact", "sampled"]),
      source: v.string(),
    }),
  ),
  marks: v.array(
    v.object({
      timeNs: v.number(),
      kind: v.picklist(["process-start", "process-exit", "phase", "oom", "source-error", "rate-change", "stop"]),
      text: v.string(),
      pid: v.optional(v.number()),
    }),
  ),
});
type Layout = v.InferOutput<typeof LayoutSchema>;

function rowsOf(table: SampleTable): number {
  return table.timeNs?.length ?? table.steps?.length ?? Object.values(table.columns)[0]?.length ?? 0;
}

const columnsOf = (table: SampleTable): Column[] => COLUMNS.filter((column) => table.columns[column] !== undefined);

function layoutOf(recording: Recording): Layout {
  return {
    version: 1,
    epoch_ns: recording.epochNs === null ? null : String(recording.epochNs),
    world_size: recording.worldSize,
    missing: { ...recording.missing },
    tables: recording.tables.map((table) => ({
      rank: table.rank,
      device: table.device,
      rows: rowsOf(table),
      time: table.timeNs !== null,
      steps: table.steps !== null,
      columns: columnsOf(table),
      highwater: [...table.highwater],
    })),
    peaks: [...recording.peaks],
    marks: [...recording.marks],
  };
}

/** Name of a byte column in the file; a count of processes is not bytes. */
const fieldOf = (column: Column) => (column === "processes" ? column : `${column}_bytes`);

/** One numeric field of the file: integers are stored as such, which packs them well and keeps other tools exact. */
interface NumberField {
  readonly name: string;
  readonly integers: boolean;
  readonly of: (table: SampleTable) => Float64Array | null | undefined;
}

function numberField(name: string, tables: readonly SampleTable[], of: NumberField["of"]): NumberField {
  const integers = tables.every(
    (table) => of(table)?.every((value) => Number.isSafeInteger(value) || Number.isNaN(value)) ?? true,
  );
  return { name, integers, of };
}

function fieldsOf(tables: readonly SampleTable[]): NumberField[] {
  const fields: NumberField[] = [];
  if (tables.some((table) => table.timeNs)) fields.push(numberField("time_ns", tables, (table) => table.timeNs));
  if (tables.some((table) => table.steps)) fields.push(numberField("step", tables, (table) => table.steps));
  for (const column of COLUMNS) {
    if (!tables.some((table) => table.columns[column])) continue;
    fields.push(numberField(fieldOf(column), tables, (table) => table.columns[column]));
  }
  return fields;
}

function schemaOf(fields: readonly NumberField[]): SchemaElement[] {
  return [
    { name: "root", num_children: fields.length + 2 },
    { name: "rank", type: "INT32", repetition_type: "REQUIRED" },
    { name: "device", type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "REQUIRED" },
    ...fields.map(
      ({ name, integers }): SchemaElement => ({
        name,
        type: integers ? "INT64" : "DOUBLE",
        repetition_type: "OPTIONAL",
      }),
    ),
  ];
}

function groupData(values: Float64Array | null | undefined, from: number, to: number, integers: boolean): unknown[] {
  const data: unknown[] = new Array(to - from).fill(null);
  if (!values) return data;
  for (let i = from; i < to; i++) {
    const value = values[i]!;
    if (!Number.isNaN(value)) data[i - from] = integers ? BigInt(value) : value;
  }
  return data;
}

/** A writer that hands its buffer to a descriptor whenever a row group is done, so that the file never stands in memory. */
function descriptorWriter(descriptor: number): ByteWriter {
  const writer = new ByteWriter(2 * FLUSH_BYTES);
  const flush = (): void => {
    const bytes = new Uint8Array(writer.buffer, 0, writer.index);
    for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at);
    writer.index = 0;
  };
  return Object.assign(writer, { flush, finish: flush });
}

/**
 * Write every sample of a recording, all tables one after the other: `rank`, `device`, `time_ns`, `step` and one column per
 * counter; unknown is null. The file appears under its name only when it is whole.
 * @throws GateError PARQUET_WRITE_FAILED
 */
export function writeParquet(file: string, recording: Recording): void {
  const part = `${file}.part`;
  const fields = fieldsOf(recording.tables);
  try {
    const descriptor = openSync(part, "w");
    try {
      const writer = new ParquetWriter({
        writer: descriptorWriter(descriptor),
        schema: schemaOf(fields),
        kvMetadata: [{ key: LAYOUT_KEY, value: JSON.stringify(layoutOf(recording)) }],
        createdBy: "stormlog-gate",
      });
      for (const table of recording.tables) {
        const rows = rowsOf(table);
        for (let from = 0; from < rows; from += ROWS_PER_GROUP) {
          const to = Math.min(rows, from + ROWS_PER_GROUP);
          writer.write({
            rowGroupSize: ROWS_PER_GROUP,
            columnData: [
              { name: "rank", data: new Int32Array(to - from).fill(table.rank) },
              { name: "device", data: new Array(to - from).fill(table.device) },
              ...fields.map(({ name, integers, of }) => ({
                name,
                data: groupData(of(table), from, to, integers),
                ...(integers ? { encoding: "DELTA_BINARY_PACKED" as const } : {}),
              })),
            ],
          });
        }
      }
      writer.finish();
    } finally {
      closeSync(descriptor);
    }
    renameSync(part, file);
  } catch (error) {
    rmSync(part, { force: true });
    throw new GateError("PARQUET_WRITE_FAILED", `the samples cannot be written (${reasonOf(error)})`, {
      kind: "error",
      where: file,
      hint: "Check the free space and the permissions of the directory.",
      cause: error,
    });
  }
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

function unreadable(file: string, error: unknown): GateError {
  return invalidInput(
    "PARQUET_UNREADABLE",
    `the Parquet file cannot be read: it is cut or damaged (${reasonOf(error)})`,
    file,
    "Copy it again, or read the samples.rec beside it.",
  );
}

/** Every column of a file as numbers, null as NaN. */
async function readNumbers(
  file: string,
  wanted: (name: string) => boolean,
): Promise<{ metadata: FileMetaData; numbers: Map<string, Float64Array>; texts: Map<string, string[]>; rows: number }> {
  const { asyncBufferFromFile, parquetMetadataAsync, parquetRead } = await import("hyparquet");
  const source = await asyncBufferFromFile(file);
  const metadata = await parquetMetadataAsync(source);
  const rows = Number(metadata.num_rows);
  const numbers = new Map<string, Float64Array>();
  const texts = new Map<string, string[]>();
  const columns = metadata.schema.slice(1).filter((element) => wanted(element.name));
  for (const { name, type } of columns) {
    if (type === "BYTE_ARRAY") texts.set(name, new Array(rows).fill(""));
    else numbers.set(name, new Float64Array(rows).fill(Number.NaN));
  }
  await parquetRead({
    file: source,
    metadata,
    columns: columns.map((element) => element.name),
    onChunk: ({ columnName, columnData, rowStart }) => {
      const into = numbers.get(columnName);
      const text = texts.get(columnName);
      for (let i = 0; i < columnData.length; i++) {
        const value: unknown = columnData[i];
        if (value === null || value === undefined) continue;
        if (into) into[rowStart + i] = Number(value);
        else if (text) text[rowStart + i] = String(value);
      }
    },
  });
  return { metadata, numbers, texts, rows };
}

/**
 * Read a Parquet file: one of ours, exactly as it was written, or any file with columns named as in the generic CSV layout
 * (`time_ns` or `timestamp_ns`, `step`, `rank`, `device`, `allocated_bytes`, …).
 * @throws GateError INPUT_EMPTY, PARQUET_UNREADABLE, INPUT_UNKNOWN_FORMAT, INPUT_NOT_FOUND, INPUT_NO_PERMISSION, NEGATIVE_BYTES
 */
export async function readParquet(file: string): Promise<Recording> {
  if (statInput(file).size === 0) throw invalidInput("INPUT_EMPTY", "the Parquet file is empty", file);
  const known = new Set(["rank", "device", "time_ns", "timestamp_ns", "step", ...COLUMNS.map(fieldOf)]);
  let read: Awaited<ReturnType<typeof readNumbers>>;
  try {
    read = await readNumbers(file, (name) => known.has(name));
  } catch (error) {
    if (error instanceof Error && "code" in error && typeof error.code === "string") throw fileError(error, file);
    throw unreadable(file, error);
  }
  const text = read.metadata.key_value_metadata?.find((entry) => entry.key === LAYOUT_KEY)?.value;
  if (text === undefined) return foreignRecording(file, read);
  let layout: Layout;
  try {
    layout = v.parse(LayoutSchema, JSON.parse(text));
  } catch (error) {
    throw unreadable(file, error);
  }
  let row = 0;
  const tables = layout.tables.map((table): SampleTable => {
    const from = row;
    row += table.rows;
    const part = (name: string) =>
      read.numbers.get(name)?.slice(from, row) ?? new Float64Array(table.rows).fill(Number.NaN);
    return {
      rank: table.rank,
      device: table.device,
      timeNs: table.time ? part("time_ns") : null,
      steps: table.steps ? part("step") : null,
      columns: Object.fromEntries(table.columns.map((column) => [column, part(fieldOf(column))])),
      highwater: new Set(table.highwater),
    };
  });
  if (row !== read.rows) throw unreadable(file, new Error(`${read.rows} rows where ${row} are announced`));
  return {
    epochNs: layout.epoch_ns === null ? null : BigInt(layout.epoch_ns),
    tables,
    peaks: layout.peaks,
    marks: layout.marks.map(({ timeNs, kind, text: words, pid }) => ({
      timeNs,
      kind,
      text: words,
      ...(pid === undefined ? {} : { pid }),
    })),
    events: null,
    worldSize: layout.world_size,
    missing: layout.missing,
    info: null,
  };
}

function foreignRecording(file: string, read: Awaited<ReturnType<typeof readNumbers>>): Recording {
  const present = COLUMNS.filter((column) => read.numbers.has(fieldOf(column)));
  if (!present.some((column) => METRICS.some((metric) => metric === column))) {
    throw invalidInput(
      "INPUT_UNKNOWN_FORMAT",
      "the Parquet file has no memory column",
      file,
      "Name a column allocated_bytes, reserved_bytes, used_bytes or host_bytes.",
    );
  }
  const groups = new Map<string, { rank: number; device: string; rows: number[] }>();
  const ranks = read.numbers.get("rank");
  const devices = read.texts.get("device");
  for (let i = 0; i < read.rows; i++) {
    const rank = Math.max(0, Math.trunc(ranks?.[i] ?? 0) || 0);
    const device = devices?.[i] || "cuda:0";
    const key = `${rank} ${device}`;
    const group = groups.get(key);
    if (group) group.rows.push(i);
    else groups.set(key, { rank, device, rows: [i] });
  }
  const missing: Record<string, number> = {};
  for (const column of present) {
    let count = 0;
    for (const [i, value] of read.numbers.get(fieldOf(column))!.entries()) {
      if (!Number.isFinite(value)) count++;
      else if (value < 0) {
        throw invalidInput(
          "NEGATIVE_BYTES",
          `row ${i + 1}, column "${fieldOf(column)}": a byte count cannot be negative`,
          file,
        );
      }
    }
    if (count > 0) missing[fieldOf(column)] = count;
  }
  const time = read.numbers.get("time_ns") ?? read.numbers.get("timestamp_ns");
  const steps = read.numbers.get("step");
  const tables = [...groups.values()].map(({ rank, device, rows }): SampleTable => {
    const pick = (values: Float64Array) => Float64Array.from(rows, (i) => values[i]!);
    return {
      rank,
      device,
      timeNs: time ? pick(time) : null,
      steps: steps ? pick(steps) : null,
      columns: Object.fromEntries(present.map((column) => [column, pick(read.numbers.get(fieldOf(column))!)])),
      highwater: new Set(),
    };
  });
  return { epochNs: null, tables, peaks: [], marks: [], events: null, worldSize: null, missing, info: null };
}
