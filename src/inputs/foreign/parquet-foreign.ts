import { invalidInput } from "../../core/errors.ts";
import { fieldOf } from "../../telemetry/formats/parquet.ts";
import { numberOf, type ParquetSource } from "../../telemetry/formats/parquet-source.ts";
import { checkTableCount } from "../../telemetry/recording/input-file.ts";
import { isMetric } from "../../telemetry/recording/metrics.ts";
import {
  COLUMNS,
  type Column,
  emptyRecording,
  MAX_RANK,
  type Recording,
  type SampleTable,
} from "../../telemetry/recording/model.ts";

interface RowGroup {
  readonly rank: number;
  readonly device: string;
  rows: number;
}

/** Table and row in it of each row; null when all rows are one table in their own order. */
interface Placement {
  readonly groups: readonly RowGroup[];
  readonly places: { readonly group: Uint32Array; readonly at: Uint32Array } | null;
}

async function placementOf(source: ParquetSource, name: string): Promise<Placement> {
  const keys = ["rank", "device"].filter((name) => source.columns.has(name));
  if (keys.length === 0) return { groups: [{ rank: 0, device: "cuda:0", rows: source.rows }], places: null };
  const ranks = new Int32Array(source.columns.has("rank") ? source.rows : 0);
  const devices = new Uint32Array(source.columns.has("device") ? source.rows : 0);
  const names = ["cuda:0"];
  const numbers = new Map([["cuda:0", 0]]);
  await source.each(keys, (column, values, rowStart) => {
    for (let i = 0; i < values.length; i++) {
      if (column === "rank") {
        const rank = Math.max(0, Math.trunc(numberOf(values[i])) || 0);
        if (rank > MAX_RANK) throw invalidInput("RANK_INVALID", `row ${rowStart + i}: ${rank} is not a rank`, name);
        ranks[rowStart + i] = rank;
        continue;
      }
      const device = String(values[i] ?? "") || "cuda:0";
      let number = numbers.get(device);
      if (number === undefined) {
        number = names.push(device) - 1;
        numbers.set(device, number);
      }
      devices[rowStart + i] = number;
    }
  });
  const groups: RowGroup[] = [];
  const known = new Map<number, number>();
  const group = new Uint32Array(source.rows);
  const at = new Uint32Array(source.rows);
  for (let i = 0; i < source.rows; i++) {
    const rank = ranks[i] ?? 0;
    const device = devices[i] ?? 0;
    const key = rank * names.length + device;
    let index = known.get(key);
    if (index === undefined) {
      index = groups.push({ rank, device: names[device] ?? "cuda:0", rows: 0 }) - 1;
      known.set(key, index);
      checkTableCount(groups.length, name);
    }
    group[i] = index;
    const own = groups[index];
    if (own !== undefined) at[i] = own.rows++;
  }
  return { groups, places: groups.length > 1 ? { group, at } : null };
}

/** @throws GateError INPUT_UNKNOWN_FORMAT without a memory column, NEGATIVE_BYTES, BYTES_TOO_LARGE */
export async function readForeignParquet(file: string, source: ParquetSource): Promise<Recording> {
  const present = COLUMNS.filter((column) => source.columns.has(fieldOf(column)));
  if (!present.some(isMetric)) {
    throw invalidInput(
      "INPUT_UNKNOWN_FORMAT",
      "the Parquet file has no memory column",
      file,
      "Name a column allocated_bytes, reserved_bytes, used_bytes or host_bytes.",
    );
  }
  const { groups, places } = await placementOf(source, file);
  const timeField = ["time_ns", "timestamp_ns"].find((name) => source.columns.has(name)) ?? null;
  const fields = [
    ...(timeField === null ? [] : [timeField]),
    ...(source.columns.has("step") ? ["step"] : []),
    ...present.map(fieldOf),
  ];
  const stores = new Map(fields.map((field) => [field, groups.map(({ rows }) => new Float64Array(rows))]));
  const bytes = new Set(present.map(fieldOf));
  const missing: Record<string, number> = {};
  let impossible: { row: number; field: string; value: number } | null = null;
  await source.each(fields, (field, values, rowStart) => {
    const store = stores.get(field);
    if (store === undefined) return;
    const checked = bytes.has(field);
    for (let i = 0; i < values.length; i++) {
      const row = rowStart + i;
      const value = numberOf(values[i]);
      if (checked && !Number.isFinite(value)) missing[field] = (missing[field] ?? 0) + 1;
      else if (checked && (value < 0 || value > Number.MAX_SAFE_INTEGER)) impossible ??= { row, field, value };
      const into = store[places?.group[row] ?? 0];
      if (into !== undefined) into[places?.at[row] ?? row] = value;
    }
  });
  if (impossible !== null) throw impossibleBytes(impossible, file);
  const tables = groups.map(({ rank, device }, i): SampleTable => {
    const part = (field: string) => stores.get(field)?.[i] ?? null;
    const columns: Partial<Record<Column, Float64Array>> = {};
    for (const column of present) columns[column] = part(fieldOf(column)) ?? new Float64Array(0);
    return {
      rank,
      device,
      timeNs: timeField === null ? null : part(timeField),
      steps: part("step"),
      columns,
      highwater: new Set(),
    };
  });
  return { ...emptyRecording(tables), missing };
}

function impossibleBytes({ row, field, value }: { row: number; field: string; value: number }, file: string): Error {
  const where = `row ${row + 1}, column "${field}"`;
  return value < 0
    ? invalidInput("NEGATIVE_BYTES", `${where}: a byte count cannot be negative`, file)
    : invalidInput("BYTES_TOO_LARGE", `${where}: ${value} bytes are more than any device has`, file);
}
