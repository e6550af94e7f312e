import type { SqlValue } from "sql.js";
import { invalidInput } from "../../core/errors.ts";
import { GrowableColumns } from "../../telemetry/recording/growable.ts";
import { checkTableCount } from "../../telemetry/recording/input-file.ts";
import { emptyRecording, MAX_RANK, type Recording, type SampleTable } from "../../telemetry/recording/model.ts";
import { columnsOfTable, type RowQuery, readSqlite } from "./sqlite.ts";

const TABLE = "step_memory_samples";
/** Per-process telemetry of the same run: the only table with the capacity of the devices. */
const PROCESS_TABLE = "process_samples";
const NEEDED = ["step", "peak_alloc_bytes", "peak_reserved_bytes"] as const;

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

/** Tables by rank and device while rows are read in the order of their arrival; `clock` is Unix seconds. */
class OpenTables<Name extends string> {
  readonly #open = new Map<string, { rank: number; device: string; columns: GrowableColumns<"clock" | Name> }>();
  readonly #file: string;
  readonly #names: readonly Name[];

  constructor(file: string, ...names: readonly Name[]) {
    this.#file = file;
    this.#names = names;
  }

  push(rank: number, device: string, ...row: readonly number[]): void {
    const key = `${rank} ${device}`;
    let table = this.#open.get(key);
    if (!table) {
      checkTableCount(this.#open.size + 1, this.#file);
      table = { rank, device, columns: new GrowableColumns<"clock" | Name>("clock", ...this.#names) };
      this.#open.set(key, table);
    }
    table.columns.push(...row);
  }

  take() {
    return [...this.#open.values()].map(({ rank, device, columns }) => ({ rank, device, ...columns.take() }));
  }
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

/** Host memory of each rank's process. */
function hostTables(rows: RowQuery, file: string, missing: Record<string, number>) {
  const open = new OpenTables(file, "host");
  const columns = columnsOfTable(rows, PROCESS_TABLE);
  if (!columns.has("ram_used_bytes")) return [];
  const fields = [selected(columns, "global_rank", "rank"), selected(columns, "sample_ts_s"), "ram_used_bytes"];
  let row = 0;
  for (const [rankText, time, used] of rows(`SELECT ${fields.join(", ")} FROM ${PROCESS_TABLE} ORDER BY rowid`)) {
    row++;
    const rank = rankOf(rankText, PROCESS_TABLE, row, file);
    const bytes = bytesOf(used, "ram_used_bytes", missing, `${file}, row ${row} of ${PROCESS_TABLE}`);
    open.push(rank, "host", number(time), bytes);
  }
  return open.take();
}

/** Largest capacity of all processes, bytes; NaN when the run did not record it. */
function capacityOf(rows: RowQuery): number {
  if (!columnsOfTable(rows, PROCESS_TABLE).has("gpu_mem_total_bytes")) return Number.NaN;
  let bytes = Number.NaN;
  for (const [capacity] of rows(`SELECT gpu_mem_total_bytes FROM ${PROCESS_TABLE}`))
    if (number(capacity) > 0 && !(number(capacity) <= bytes)) bytes = number(capacity);
  return Math.round(bytes);
}

function recordingOf(rows: RowQuery, file: string): { readonly recording: Recording; readonly notes: string[] } {
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
  const open = new OpenTables(file, "steps", "allocated", "reserved");
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
    if (number(world) >= 1) worldSize = Math.max(Number.isNaN(worldSize) ? 1 : worldSize, number(world));
    const where = `${file}, row ${row} of ${TABLE}`;
    const [held, got] = [
      bytesOf(allocated, "peak_alloc_bytes", missing, where),
      bytesOf(reserved, "peak_reserved_bytes", missing, where),
    ];
    open.push(rank, deviceName(deviceText, number(local)), number(time), number(step), held, got);
    usable ||= !Number.isNaN(held) || !Number.isNaN(got);
  }
  const world = { worldSize: worldSize >= 1 ? worldSize : null, missing };
  const host = usable ? [] : hostTables(rows, file, missing);
  if (host.length > 0) {
    const tables = host.map(({ host, ...table }) => ({ ...table, steps: null, columns: { host } }));
    // Note about a run without a GPU.
    return {
      recording: { ...clocked(tables), ...world },
      notes: [
        "the run has no device memory; its host memory is the resident set of each rank's process, as TraceML samples it",
      ],
    };
  }
  if (row === 0)
    throw invalidInput("INPUT_EMPTY", `the table ${TABLE} has no rows`, file, "Was a GPU seen by that run?");
  const capacity = capacityOf(rows);
  const tables = open.take().map(({ allocated, reserved, ...table }) => {
    const isKnown = !Number.isNaN(capacity) && table.device !== "host";
    const total = isKnown ? { total: new Float64Array(allocated.length).fill(capacity) } : {};
    return { ...table, columns: { allocated, reserved, ...total } };
  });
  // Note about the meaning of the values.
  return {
    recording: { ...clocked(tables), ...world },
    notes: [
      "TraceML's samples are the allocator's peaks of each step (its counters restart every step), not running maxima",
    ],
  };
}

/** Tables on one clock, which starts at the first sample of any of them; Unix seconds become nanoseconds. */
function clocked(
  open: readonly (Omit<SampleTable, "timeNs" | "highwater"> & { readonly clock: Float64Array })[],
): Recording {
  let start = Number.POSITIVE_INFINITY;
  for (const { clock } of open) for (const at of clock) if (at < start) start = at;
  const hasClock = Number.isFinite(start);
  const tables = open.map(
    ({ clock, ...table }): SampleTable => ({
      ...table,
      timeNs: hasClock ? clock.map((at) => Math.round((at - start) * 1e9)) : null,
      highwater: new Set(),
    }),
  );
  const byDevice = (a: SampleTable, b: SampleTable) => (a.device < b.device ? -1 : a.device > b.device ? 1 : 0);
  return {
    ...emptyRecording(tables.sort((a, b) => a.rank - b.rank || byDevice(a, b))),
    epochNs: hasClock ? BigInt(Math.round(start * 1e6)) * 1000n : null,
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
