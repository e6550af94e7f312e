import type { SqlValue } from "sql.js";
import { invalidInput } from "../../core/errors.ts";
import { GrowableColumn } from "../recording/growable.ts";
import type { Recording, SampleTable } from "../recording/model.ts";
import { columnsOfTable, type Rows, readSqlite } from "./sqlite.ts";

const TABLE = "step_memory_samples";
/** Per-process telemetry of the same run: the only table with the capacity of the devices. */
const PROCESS_TABLE = "process_samples";
const NEEDED = ["step", "peak_alloc_bytes", "peak_reserved_bytes"] as const;

/** Note about the meaning of the values. */
const PEAKS_NOTE =
  "TraceML's samples are the allocator's peaks of each step (its counters restart every step), not running maxima";

/** A column that older versions lack is read as null. */
const selected = (columns: ReadonlySet<string>, ...names: string[]): string =>
  names.find((name) => columns.has(name)) ?? "NULL";

const number = (value: SqlValue | undefined): number => (typeof value === "number" ? value : Number.NaN);

/** "cuda:0", "mps:0", "host" from TraceML's device column (a torch device, or null). */
function deviceName(device: SqlValue | undefined, localRank: number): string {
  const text = typeof device === "string" ? device.trim().toLowerCase() : "";
  if (text === "cpu") return "host";
  if (/^[a-z]+:\d+$/.test(text)) return text;
  const kind = /^[a-z]+$/.test(text) ? text : "cuda";
  const index = /^\d+$/.test(text) ? Number(text) : Number.isNaN(localRank) ? 0 : localRank;
  return `${kind}:${index}`;
}

interface OpenTable {
  readonly rank: number;
  readonly device: string;
  readonly time: GrowableColumn;
  readonly steps: GrowableColumn;
  readonly allocated: GrowableColumn;
  readonly reserved: GrowableColumn;
}

/** A byte count of a row; NaN, and counted, when it is missing. */
function bytesOf(value: SqlValue | undefined, name: string, missing: Record<string, number>, where: string): number {
  const bytes = number(value);
  if (bytes < 0) throw invalidInput("NEGATIVE_BYTES", `${name} is ${bytes}: a byte count cannot be negative`, where);
  if (Number.isFinite(bytes)) return Math.round(bytes);
  missing[name] = (missing[name] ?? 0) + 1;
  return Number.NaN;
}

/** Largest capacity of all processes, bytes; NaN when the run did not record it. */
function capacityOf(rows: Rows): number {
  if (!columnsOfTable(rows, PROCESS_TABLE).has("gpu_mem_total_bytes")) return Number.NaN;
  const [row] = rows(`SELECT MAX(gpu_mem_total_bytes) FROM ${PROCESS_TABLE}`);
  const bytes = number(row?.[0]);
  return bytes > 0 ? Math.round(bytes) : Number.NaN;
}

function recordingOf(rows: Rows, file: string): Recording {
  const columns = columnsOfTable(rows, TABLE);
  const absent = NEEDED.filter((name) => !columns.has(name));
  if (absent.length > 0) {
    throw invalidInput(
      "INPUT_UNKNOWN_FORMAT",
      columns.size === 0
        ? `the SQLite database has no table ${TABLE}`
        : `the table ${TABLE} lacks the column ${absent.join(", ")}`,
      file,
      "Supported: the databases of TraceML's aggregator (logs/<run>/aggregator/telemetry).",
    );
  }
  const open = new Map<string, OpenTable>();
  const missing: Record<string, number> = {};
  let worldSize = Number.NaN;
  const fields = [
    selected(columns, "global_rank", "rank"),
    selected(columns, "local_rank"),
    selected(columns, "world_size"),
    selected(columns, "device"),
    selected(columns, "sample_ts_s"),
    ...NEEDED,
  ];
  let row = 0;
  // In the order of arrival, so that a step counter that restarts stays in time order.
  for (const [rankText, local, world, deviceText, time, step, allocated, reserved] of rows(
    `SELECT ${fields.join(", ")} FROM ${TABLE} ORDER BY rowid`,
  )) {
    row++;
    const rank = rankText === null ? 0 : number(rankText);
    if (!Number.isInteger(rank) || rank < 0) {
      throw invalidInput("RANK_INVALID", `row ${row} of ${TABLE}: ${JSON.stringify(rankText)} is not a rank`, file);
    }
    const device = deviceName(deviceText, number(local));
    const key = `${rank} ${device}`;
    let table = open.get(key);
    if (!table) {
      const column = () => new GrowableColumn();
      table = { rank, device, time: column(), steps: column(), allocated: column(), reserved: column() };
      open.set(key, table);
    }
    if (number(world) >= 1) worldSize = Math.max(Number.isNaN(worldSize) ? 1 : worldSize, number(world));
    const where = `${file}, row ${row} of ${TABLE}`;
    table.time.push(number(time));
    table.steps.push(number(step));
    table.allocated.push(bytesOf(allocated, "peak_alloc_bytes", missing, where));
    table.reserved.push(bytesOf(reserved, "peak_reserved_bytes", missing, where));
  }
  if (row === 0)
    throw invalidInput("INPUT_EMPTY", `the table ${TABLE} has no rows`, file, "Was a GPU seen by that run?");
  return { ...finished([...open.values()], capacityOf(rows)), worldSize: worldSize >= 1 ? worldSize : null, missing };
}

function finished(open: readonly OpenTable[], capacity: number): Omit<Recording, "worldSize" | "missing"> {
  const clocks = open.map(({ time }) => time.take());
  let start = Number.POSITIVE_INFINITY;
  for (const clock of clocks) for (const at of clock) if (at < start) start = at;
  const hasClock = Number.isFinite(start);
  const tables = open.map(({ rank, device, steps, allocated, reserved }, index): SampleTable => {
    const clock = clocks[index]!;
    return {
      rank,
      device,
      timeNs: hasClock ? clock.map((at) => Math.round((at - start) * 1e9)) : null,
      steps: steps.take(),
      columns: {
        allocated: allocated.take(),
        reserved: reserved.take(),
        ...(Number.isNaN(capacity) || device === "host"
          ? {}
          : { total: new Float64Array(clock.length).fill(capacity) }),
      },
      highwater: new Set(),
    };
  });
  return {
    epochNs: hasClock ? BigInt(Math.round(start * 1e6)) * 1000n : null,
    tables: tables.sort((a, b) => a.rank - b.rank || (a.device < b.device ? -1 : a.device > b.device ? 1 : 0)),
    peaks: [],
    marks: [],
    events: null,
    info: null,
  };
}

/**
 * TraceML's per-step memory: peaks of allocated and reserved memory within each step, by global rank and device.
 * @throws GateError INPUT_UNKNOWN_FORMAT, INPUT_EMPTY, RANK_INVALID, NEGATIVE_BYTES and those of {@link readSqlite}
 */
export async function readTraceMlDatabase(file: string): Promise<{ recording: Recording; notes: readonly string[] }> {
  return readSqlite(file, (rows, notes) => ({ recording: recordingOf(rows, file), notes: [PEAKS_NOTE, ...notes] }));
}
