import { existsSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import type { Database, SqlJsStatic, SqlValue } from "sql.js";
import { GateError, invalidInput } from "../../core/errors.ts";
import { packageRoot } from "../../core/package-root.ts";
import { fileError, statInput } from "../input-file.ts";
import { applyLog } from "./sqlite-wal.ts";

/** First bytes of every SQLite database. */
export const SQLITE_MAGIC = "SQLite format 3\u0000";

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
      kind: "error",
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

const LOG_LOST =
  "the write-ahead log of the SQLite database could not be read completely: the newest rows may be missing";
const CHANGED = "the SQLite database was written to while it was read: the newest rows may be missing";

/** The file's bytes with its write-ahead log applied. */
function readWithLog(file: string, notes: string[]): Uint8Array {
  const logFile = `${file}-wal`;
  const logSize = () => statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  try {
    const before = statSync(file);
    const bytes = readFileSync(file);
    if (logSize() === 0) return bytes;
    if (logSize() > MAX_BYTES) {
      notes.push(LOG_LOST);
      return bytes;
    }
    const whole = applyLog(bytes, readFileSync(logFile));
    const after = statSync(file);
    if (after.mtimeMs !== before.mtimeMs || after.size !== before.size) notes.push(CHANGED);
    if (whole?.damaged === true) notes.push(LOG_LOST);
    return whole?.bytes ?? bytes;
  } catch (error) {
    throw fileError(error, file);
  }
}

function damaged(file: string, error: unknown): GateError {
  return invalidInput(
    "SQLITE_UNREADABLE",
    `the SQLite database cannot be read: it is truncated or damaged (${error instanceof Error ? error.message : String(error)})`,
    file,
    "Copy it again while nothing writes to it, or export it with sqlite3 FILE '.recover'.",
  );
}

/** Rows of one query, one after the other, as arrays in the order of the selected columns. */
export type Rows = (sql: string) => Iterable<readonly SqlValue[]>;

function rowsOf(database: Database): Rows {
  return function* (sql) {
    const statement = database.prepare(sql);
    try {
      while (statement.step()) yield statement.get();
    } finally {
      statement.free();
    }
  };
}

/** Column names of a table; empty for a missing table. `table` is one of our constants, never untrusted text. */
export function columnsOfTable(rows: Rows, table: string): ReadonlySet<string> {
  return new Set([...rows(`SELECT name FROM pragma_table_info('${table}')`)].map(([name]) => String(name)));
}

/**
 * Opens an in-memory copy of a SQLite database for `look`, with its write-ahead log; `notes` reports lost rows.
 * @throws GateError INPUT_TOO_LARGE above 500 MiB, SQLITE_UNREADABLE, ASSET_MISSING, the codes of file reads and `look`
 */
export async function readSqlite<T>(file: string, look: (rows: Rows, notes: string[]) => T): Promise<T> {
  const { size } = statInput(file);
  if (size > MAX_BYTES) {
    throw invalidInput(
      "INPUT_TOO_LARGE",
      `the SQLite database has ${Math.round(size / 2 ** 20)} MiB (at most ${MAX_BYTES / 2 ** 20} MiB can be read)`,
      file,
      "Export the table step_memory_samples as CSV with the columns step, rank, allocated_bytes and reserved_bytes.",
    );
  }
  const notes: string[] = [];
  const bytes = readWithLog(file, notes);
  // Without shared memory SQLite cannot open a database in WAL mode. The copy has its log applied.
  if (bytes.length > READ_VERSION_AT) {
    bytes[WRITE_VERSION_AT] = 1;
    bytes[READ_VERSION_AT] = 1;
  }
  engine ??= loadEngine();
  const { Database } = await engine;
  let database: Database | null = null;
  try {
    database = new Database(bytes);
    return look(rowsOf(database), notes);
  } catch (error) {
    throw error instanceof GateError ? error : damaged(file, error);
  } finally {
    database?.close();
  }
}
