import type { SqlValue } from "sql.js";
import { invalidInput } from "../../core/errors.ts";
import { GrowableColumn } from "../../telemetry/recording/growable.ts";
import { checkTableCount } from "../../telemetry/recording/input-file.ts";
import { MAX_RANK, type Recording, type SampleTable } from "../../telemetry/recording/model.ts";
import { columnsOfTable, type Rows, readSqlite } from "./sqlite.ts";

const TABLE = "step_memory_samples";
/** Per-process telemetry of the same run: the only table with the capacity of the devices. */
const PROCESS_TABLE = "process_samples";
const NEEDED = ["step", "peak_alloc_bytes", "peak_reserved_bytes"] as const;

/** Note about the meaning of the values. */
const PEAKS_NOTE =
  "TraceML's samples are the allocator's peaks of each step (its counters restart every step), not running maxima";

/** Note about a run without a GPU. */
const HOST_NOTE =
  "the run has no device memory; its host memory is the resident set of each rank's process, as TraceML samples it";

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

interface HostTable {
  readonly rank: number;
  readonly time: GrowableColumn;
  readonly host: GrowableColumn;
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

/** The rank of a row; 0 where it has none. */
function rankOf(value: SqlValue | undefined, table: string, row: number, file: string): number {
  const rank = value === null ? 0 : number(value);
  if (Number.isInteger(rank) && rank >= 0 && rank <= MAX_RANK) return rank;
  throw invalidInput("RANK_INVALID", `row ${row} of ${table}: ${JSON.stringify(value)} is not a rank`, file);
}

/** Host memory of each rank's process, in the order of arrival. */
function hostTables(rows: Rows, file: string, missing: Record<string, number>): HostTable[] {
  const columns = columnsOfTable(rows, PROCESS_TABLE);
  if (!columns.has("ram_used_bytes")) return [];
  const fields = [selected(columns, "global_rank", "rank"), selected(columns, "sample_ts_s"), "ram_used_bytes"];
  const open = new Map<number, HostTable>();
  let row = 0;
  for (const [rankText, time, used] of rows(`SELECT ${fields.join(", ")} FROM ${PROCESS_TABLE} ORDER BY rowid`)) {
    row++;
    const rank = rankOf(rankText, PROCESS_TABLE, row, file);
    let table = open.get(rank);
    if (!table) {
      checkTableCount(open.size + 1, file);
      table = { rank, time: new GrowableColumn(), host: new GrowableColumn() };
      open.set(rank, table);
    }
    table.time.push(number(time));
    table.host.push(bytesOf(used, "ram_used_bytes", missing, `${file}, row ${row} of ${PROCESS_TABLE}`));
  }
  return [...open.values()];
}

/** Largest capacity of all processes, bytes; NaN when the run did not record it. */
function capacityOf(rows: Rows): number {
  if (!columnsOfTable(rows, PROCESS_TABLE).has("gpu_mem_total_bytes")) return Number.NaN;
  let bytes = Number.NaN;
  for (const [capacity] of rows(`SELECT gpu_mem_total_bytes FROM ${PROCESS_TABLE}`))
    if (number(capacity) > 0 && !(number(capacity) <= bytes)) bytes = number(capacity);
  return Math.round(bytes);
}

function recordingOf(rows: Rows, file: string): { readonly recording: Recording; readonly notes: string[] } {
  const columns = columnsOfTable(rows, TABLE);
  const absent = NEEDED.filter((name) => !columns.has(name));
  if (absent.length > 0) {
    throw invalidInput(
      "INPUT_UNKNOWN_FORMAT",
      columns.size === 0
        ? `the SQLite database has no table ${TABLE}`
        : `the table ${TABLE} lacks the column ${absent.join(", ")}`,
      file,
      "Supported: the databases of TraceML's aggregator (logs/<run>/aggregator/telemetry). PyTorch's memory snapshots " +
        "are read as pickles: dump them with torch.cuda.memory._dump_snapshot.",
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
  let usable = false;
  // In the order of arrival, so that a step counter that restarts stays in time order.
  for (const [rankText, local, world, deviceText, time, step, allocated, reserved] of rows(
    `SELECT ${fields.join(", ")} FROM ${TABLE} ORDER BY rowid`,
  )) {
    row++;
    const rank = rankOf(rankText, TABLE, row, file);
    const device = deviceName(deviceText, number(local));
    const key = `${rank} ${device}`;
    let table = open.get(key);
    if (!table) {
      const column = () => new GrowableColumn();
      checkTableCount(open.size + 1, file);
      table = { rank, device, time: column(), steps: column(), allocated: column(), reserved: column() };
      open.set(key, table);
    }
    if (number(world) >= 1) worldSize = Math.max(Number.isNaN(worldSize) ? 1 : worldSize, number(world));
    const where = `${file}, row ${row} of ${TABLE}`;
    table.time.push(number(time));
    table.steps.push(number(step));
    const [held, got] = [
      bytesOf(allocated, "peak_alloc_bytes", missing, where),
      bytesOf(reserved, "peak_reserved_bytes", missing, where),
    ];
    table.allocated.push(held);
    table.reserved.push(got);
    usable ||= !Number.isNaN(held) || !Number.isNaN(got);
  }
  const world = { worldSize: worldSize >= 1 ? worldSize : null, missing };
  const host = usable ? [] : hostTables(rows, file, missing);
  if (host.length > 0) {
    const tables = host.map(({ rank, time, host }) => ({
      table: { rank, device: "host", steps: null, columns: { host: host.take() } },
      clock: time.take(),
    }));
    return { recording: { ...clocked(tables), ...world }, notes: [HOST_NOTE] };
  }
  if (row === 0)
    throw invalidInput("INPUT_EMPTY", `the table ${TABLE} has no rows`, file, "Was a GPU seen by that run?");
  return { recording: { ...finished([...open.values()], capacityOf(rows)), ...world }, notes: [PEAKS_NOTE] };
}

function finished(open: readonly OpenTable[], capacity: number): Omit<Recording, "worldSize" | "missing"> {
  return clocked(
    open.map(({ rank, device, time, steps, allocated, reserved }) => {
      const clock = time.take();
      const total = Number.isNaN(capacity) || device === "host" ? null : new Float64Array(clock.length).fill(capacity);
      const columns = { allocated: allocated.take(), reserved: reserved.take(), ...(total === null ? {} : { total }) };
      return { table: { rank, device, steps: steps.take(), columns }, clock };
    }),
  );
}

/** Tables on one clock, which starts at the first sample of any of them; Unix seconds become nanoseconds. */
function clocked(
  open: readonly { readonly table: Omit<SampleTable, "timeNs" | "highwater">; readonly clock: Float64Array }[],
): Omit<Recording, "worldSize" | "missing"> {
  let start = Number.POSITIVE_INFINITY;
  for (const { clock } of open) for (const at of clock) if (at < start) start = at;
  const hasClock = Number.isFinite(start);
  const tables = open.map(
    ({ table, clock }): SampleTable => ({
      ...table,
      timeNs: hasClock ? clock.map((at) => Math.round((at - start) * 1e9)) : null,
      highwater: new Set(),
    }),
  );
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
 * TraceML's per-step memory: peaks of allocated and reserved memory within each step, by global rank and device; of a
 * run without a GPU the host memory of each rank's process.
 * @throws GateError INPUT_UNKNOWN_FORMAT, INPUT_EMPTY, RANK_INVALID, NEGATIVE_BYTES and those of {@link readSqlite}
 */
export async function readTraceMlDatabase(file: string): Promise<{ recording: Recording; notes: readonly string[] }> {
  return readSqlite(file, (rows) => recordingOf(rows, file));
}
