import { existsSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import type { Database, SqlJsStatic, SqlValue } from "sql.js";
import { GateError, invalidInput, messageOf } from "../../core/errors.ts";
import { shellWord } from "../../core/escape.ts";
import { readBounded } from "../../core/files.ts";
import { packageRoot } from "../../core/package-root.ts";
import { statInput, withFileErrors } from "../../telemetry/recording/input-file.ts";

/** The database is read into memory. A larger one would need more memory than a CI machine has. */
const MAX_BYTES = 500 * 2 ** 20;
/** File format version numbers in the header: 2 = write-ahead log, 1 = rollback journal. */
const WRITE_VERSION_AT = 18;
const READ_VERSION_AT = 19;
const WASM = "sql-wasm.wasm";

let engine: Promise<SqlJsStatic> | undefined;

/** A build has the WebAssembly among its assets. A source checkout reads it from node_modules. */
function readWasm(): Uint8Array<ArrayBuffer> {
  const root = packageRoot();
  const built = path.join(root, "dist", "assets", WASM);
  try {
    return Uint8Array.from(readFileSync(existsSync(built) ? built : path.join(root, "node_modules/sql.js/dist", WASM)));
  } catch (cause) {
    throw new GateError("ASSET_MISSING", `the file ${WASM} of this package cannot be read`, {
      where: path.dirname(built),
      hint: "Install stormlog-gate again.",
      cause,
    });
  }
}

async function loadEngine(): Promise<SqlJsStatic> {
  const { default: initSqlJs } = await import("sql.js");
  return initSqlJs({ wasmBinary: readWasm().buffer });
}

/** The newest rows are only in the log, and no library reads it without the files beside it and a lock. */
function refuseLog(file: string): void {
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  throw invalidInput(
    "SQLITE_UNMERGED_LOG",
    `the SQLite database has a write-ahead log that is not merged into it (${path.basename(file)}-wal)`,
    file,
    `Merge it while nothing writes to the database: sqlite3 ${shellWord(file)} "PRAGMA wal_checkpoint(TRUNCATE)"`,
  );
}

function damaged(file: string, error: unknown): GateError {
  return invalidInput(
    "SQLITE_UNREADABLE",
    `the SQLite database cannot be read: it is truncated or damaged (${messageOf(error)})`,
    file,
    "Copy it again while nothing writes to it, or export it with sqlite3 FILE '.recover'.",
  );
}

/** Rows of one query, one after the other, as arrays in the order of the selected columns. Never ask for aggregates. */
export type RowQuery = (sql: string) => Iterable<readonly SqlValue[]>;

/** Smallest row in a file: its pointer, and one byte each for its size, its rowid and the size of its header. */
const MIN_ROW_BYTES = 5;
/** Text that rows may repeat beyond the file's size: UTF-16 as UTF-8, and defaults of columns added later. */
const TEXT_FACTOR = 4;
/** Rows and characters that a query of the schema returns whatever the size of the file. */
const FREE = 10_000;

/**
 * Rows of a database of this many bytes. A damaged file can name a page many times, so that its rows or their texts
 * never end: there are at most as many as the file has room for.
 */
function rowsOf(database: Database, bytes: number): RowQuery {
  return function* (sql) {
    const statement = database.prepare(sql);
    let rows = 0;
    let characters = 0;
    try {
      while (statement.step()) {
        const row = statement.get();
        rows += 1;
        for (const cell of row) if (typeof cell === "string") characters += cell.length;
        if (rows > FREE + bytes / MIN_ROW_BYTES || characters > FREE + TEXT_FACTOR * bytes)
          throw new Error("it has more rows or text than its size allows");
        yield row;
      }
    } finally {
      statement.free();
    }
  };
}

const HEADER_BYTES = 100;
/** Type of a page between the root of a table and its rows. */
const INTERIOR_TABLE = 5;

/**
 * Whether the schema's table names no page twice. The engine reads it whole before the first query, and would follow
 * pages that name each other for ever. (Format: https://www.sqlite.org/fileformat2.html, section 1.6)
 */
function hasSoundSchema(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const stored = bytes.length < HEADER_BYTES ? 0 : view.getUint16(16);
  const pageBytes = stored === 1 ? 65_536 : stored;
  // The engine reports a damaged header itself.
  if (pageBytes < 512) return true;
  const seen = new Set([1]);
  for (const page of seen) {
    const start = (page - 1) * pageBytes;
    const header = start + (page === 1 ? HEADER_BYTES : 0);
    if (page < 1 || start + pageBytes > bytes.length || view.getUint8(header) !== INTERIOR_TABLE) continue;
    const cells = Math.min(view.getUint16(header + 3), Math.floor((pageBytes - HEADER_BYTES - 12) / 2));
    const children = [view.getUint32(header + 8)];
    for (let cell = 0; cell < cells; cell++) {
      const at = view.getUint16(header + 12 + 2 * cell);
      if (at + 4 <= pageBytes) children.push(view.getUint32(start + at));
    }
    for (const child of children) {
      if (seen.has(child)) return false;
      seen.add(child);
    }
  }
  return true;
}

/** Column names of a table; empty for a missing table. `table` is one of our constants, never untrusted text. */
export function columnsOfTable(rows: RowQuery, table: string): ReadonlySet<string> {
  // A view of that name could compute rows without end.
  const isTable = `EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '${table}')`;
  return new Set(
    [...rows(`SELECT name FROM pragma_table_info('${table}') WHERE ${isTable}`)].map(([name]) => String(name)),
  );
}

/**
 * Opens an in-memory copy of a SQLite database for `look`.
 * @throws GateError INPUT_TOO_LARGE above 500 MiB, SQLITE_UNMERGED_LOG, SQLITE_UNREADABLE, ASSET_MISSING, the codes of
 *   file reads and `look`
 */
export async function readSqlite<T>(file: string, look: (rows: RowQuery) => T): Promise<T> {
  const { size } = statInput(file);
  if (size > MAX_BYTES) {
    throw invalidInput(
      "INPUT_TOO_LARGE",
      `the SQLite database has ${Math.round(size / 2 ** 20)} MiB (at most ${MAX_BYTES / 2 ** 20} MiB can be read)`,
      file,
      "Export the table step_memory_samples as CSV with the columns step, rank, allocated_bytes and reserved_bytes.",
    );
  }
  const bytes = withFileErrors(file, () => readBounded(file, MAX_BYTES));
  refuseLog(file);
  // Without shared memory SQLite cannot open a database in WAL mode.
  if (bytes.length > READ_VERSION_AT) {
    bytes[WRITE_VERSION_AT] = 1;
    bytes[READ_VERSION_AT] = 1;
  }
  engine ??= loadEngine();
  const { Database } = await engine;
  let database: Database | null = null;
  try {
    if (!hasSoundSchema(bytes)) throw new Error("its schema names a page twice");
    database = new Database(bytes);
    return look(rowsOf(database, bytes.length));
  } catch (error) {
    throw error instanceof GateError ? error : damaged(file, error);
  } finally {
    database?.close();
  }
}
