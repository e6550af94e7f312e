import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import type { SchemaElement } from "hyparquet";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import * as v from "valibot";
import { codeOf, GateError, invalidInput, messageOf } from "../../core/errors.ts";
import { fileError, statInput } from "../recording/input-file.ts";
import {
  COLUMNS,
  COUNTS,
  type Column,
  emptyRecording,
  ofKnownMetric,
  type Recording,
  type SampleTable,
} from "../recording/model.ts";
import { DeviceHealthSchema } from "../recording/recorded-device.ts";
import { KnownPeakSchema, RecordingMarkSchema } from "../recording/recording-schema.ts";
import { numberOf, openParquet, type ParquetSource } from "./parquet-source.ts";

/** Name of a byte column in a file; a count is not bytes. */
export const fieldOf = (column: Column) => (COUNTS.has(column) ? column : `${column}_bytes`);

/** Metadata key for what rows do not contain: the columns of each table, epoch, marks, peaks. */
const LAYOUT_KEY = "stormlog.recording";
const ROWS_PER_GROUP = 100_000;
const FLUSH_BYTES = 1 << 20;

/** Columns and peaks of a later version are left out. */
const ColumnNames = v.pipe(
  v.array(v.string()),
  v.transform((names) => names.filter((name): name is Column => COLUMNS.some((column) => column === name))),
);
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
      at_step: v.optional(v.boolean(), false),
      columns: ColumnNames,
      highwater: ColumnNames,
    }),
  ),
  peaks: v.pipe(v.array(v.object({ ...KnownPeakSchema.entries, metric: v.string() })), v.transform(ofKnownMetric)),
  marks: v.array(RecordingMarkSchema),
  health: v.optional(v.array(DeviceHealthSchema)),
});
type FileLayout = v.InferOutput<typeof LayoutSchema>;

function rowsOf(table: SampleTable): number {
  return table.timeNs?.length ?? table.steps?.length ?? Object.values(table.columns)[0]?.length ?? 0;
}

const columnsOf = (table: SampleTable): Column[] => COLUMNS.filter((column) => table.columns[column] !== undefined);

function layoutOf(recording: Recording): FileLayout {
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
      at_step: table.atStep !== undefined,
      columns: columnsOf(table),
      highwater: [...table.highwater],
    })),
    peaks: [...recording.peaks],
    marks: [...recording.marks],
    ...(recording.health === undefined ? {} : { health: [...recording.health] }),
  };
}

/** One numeric field of the file: integers are stored as such, which compresses well and stays exact in other tools. */
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
  if (tables.some((table) => table.atStep)) {
    fields.push(numberField("at_step", tables, ({ atStep }) => atStep && Float64Array.from(atStep)));
  }
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

/** A writer that flushes to a descriptor after each row group, so that the file is never whole in memory. */
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
 * Writes every sample of a recording: `rank`, `device`, `time_ns`, `step`, `at_step` (1 at the end of a step) and one
 * column per counter; unknown is null. The file gets its name only when it is complete.
 * @throws GateError PARQUET_WRITE_FAILED
 */
export function writeParquet(file: string, recording: Recording): void {
  const part = `${file}.part`;
  const fields = fieldsOf(recording.tables);
  try {
    // The measured command may have left a FIFO or a link of this name.
    rmSync(part, { recursive: true, force: true });
    const descriptor = openSync(part, "wx");
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
    throw new GateError("PARQUET_WRITE_FAILED", `the samples cannot be written (${messageOf(error)})`, {
      where: file,
      hint: "Check the free space and the permissions of the directory.",
      cause: error,
    });
  }
}

function unreadable(file: string, error: unknown): GateError {
  return invalidInput(
    "PARQUET_UNREADABLE",
    `the Parquet file cannot be read: it is truncated or damaged (${messageOf(error)})`,
    file,
    "Copy it again, or read samples.rec in the same directory.",
  );
}

/** Reads a file with our metadata directly into the columns of its tables. */
async function readTables(source: ParquetSource, layout: FileLayout): Promise<SampleTable[]> {
  const announced = layout.tables.reduce((sum, { rows }) => sum + rows, 0);
  if (announced !== source.rows) throw new Error(`${source.rows} rows instead of ${announced}`);
  const unknown = (rows: number) => new Float64Array(rows).fill(Number.NaN);
  const tables = layout.tables.map(
    (table): SampleTable => ({
      rank: table.rank,
      device: table.device,
      timeNs: table.time ? unknown(table.rows) : null,
      steps: table.steps ? unknown(table.rows) : null,
      columns: Object.fromEntries(table.columns.map((column) => [column, unknown(table.rows)])),
      highwater: new Set(table.highwater),
    }),
  );
  const ends = layout.tables.map((table) => (table.at_step ? unknown(table.rows) : null));
  /** For each field of the file the row ranges of the tables that have it. */
  const stretches = new Map<string, { readonly from: number; readonly into: Float64Array }[]>();
  let row = 0;
  for (const [i, table] of tables.entries()) {
    const keep = (field: string, into: Float64Array | null | undefined) => {
      if (into) stretches.set(field, [...(stretches.get(field) ?? []), { from: row, into }]);
    };
    keep("time_ns", table.timeNs);
    keep("step", table.steps);
    keep("at_step", ends[i]);
    for (const column of COLUMNS) keep(fieldOf(column), table.columns[column]);
    row += layout.tables[i]?.rows ?? 0;
  }
  const fields = [...stretches.keys()].filter((field) => source.columns.has(field));
  await source.each(fields, (field, values, rowStart) => {
    for (const { from, into } of stretches.get(field) ?? []) {
      const end = Math.min(rowStart + values.length, from + into.length);
      for (let at = Math.max(rowStart, from); at < end; at++) into[at - from] = numberOf(values[at - rowStart]);
    }
  });
  return tables.map((table, i): SampleTable => {
    const end = ends[i];
    return end ? { ...table, atStep: Uint8Array.from(end) } : table;
  });
}

function notOurs(file: string): GateError {
  return invalidInput(
    "INPUT_UNKNOWN_FORMAT",
    "the Parquet file was not written by the gate",
    file,
    `Convert it: python -c 'import pandas; pandas.read_parquet("FILE").to_csv("FILE.csv", index=False)'`,
  );
}

/**
 * Reads a Parquet file of ours. Needs little more memory than the returned columns.
 * @throws GateError INPUT_EMPTY, PARQUET_UNREADABLE, INPUT_UNKNOWN_FORMAT, INPUT_NOT_FOUND, INPUT_NO_PERMISSION
 */
export async function readParquet(file: string): Promise<Recording> {
  const stats = statInput(file);
  if (!stats.isFile()) throw invalidInput("INPUT_NOT_A_FILE", "not a regular file", file);
  if (stats.size === 0) throw invalidInput("INPUT_EMPTY", "the Parquet file is empty", file);
  try {
    const source = await openParquet(file);
    const layout = source.metadata.key_value_metadata?.find(({ key }) => key === LAYOUT_KEY)?.value;
    if (layout === undefined) throw notOurs(file);
    return await readOwnParquet(source, layout);
  } catch (error) {
    if (error instanceof GateError) throw error;
    if (codeOf(error) !== undefined) throw fileError(error, file);
    throw unreadable(file, error);
  }
}

/** @param text the metadata of our writer  @throws the reader's errors */
async function readOwnParquet(source: ParquetSource, text: string): Promise<Recording> {
  const layout = v.parse(LayoutSchema, JSON.parse(text), { abortEarly: true });
  return {
    ...emptyRecording(await readTables(source, layout)),
    epochNs: layout.epoch_ns === null ? null : BigInt(layout.epoch_ns),
    peaks: layout.peaks,
    marks: layout.marks,
    worldSize: layout.world_size,
    missing: layout.missing,
    ...(layout.health === undefined ? {} : { health: layout.health }),
  };
}
