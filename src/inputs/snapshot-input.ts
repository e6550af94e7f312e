import { closeSync, fstatSync, readSync } from "node:fs";
import { invalidInput } from "../core/errors.ts";
import { openRegular } from "../core/files.ts";
import type { NamedSnapshot } from "../snapshot/document.ts";
import { snapshotName } from "../snapshot/file-names.ts";
import type { TorchSnapshot } from "../snapshot/model.ts";
import { isPickle, readSnapshot } from "../snapshot/read.ts";
import { fileError, readHead, statInput } from "../telemetry/input-file.ts";
import { refuseUnread } from "../telemetry/read.ts";

/** Whether a path is a file that begins like a pickled snapshot. */
export function isSnapshotFile(path: string): boolean {
  const stats = statInput(path);
  return stats.isFile() && stats.size > 0 && isPickle(readHead(path, 2));
}

/**
 * Read a pickled memory snapshot, a part at a time: a file may be larger than any buffer.
 * @throws GateError INPUT_NOT_FOUND, INPUT_NO_PERMISSION, INPUT_IS_DIRECTORY, INPUT_NOT_A_FILE, INPUT_EMPTY,
 *   INPUT_COMPRESSED, INPUT_UNREADABLE and those of {@link readSnapshot}
 */
export function readSnapshotFile(path: string): TorchSnapshot {
  const stats = statInput(path);
  if (stats.isDirectory()) {
    throw invalidInput(
      "INPUT_IS_DIRECTORY",
      "a directory was given where a file is needed",
      path,
      "Name a file in it.",
    );
  }
  if (!stats.isFile()) throw invalidInput("INPUT_NOT_A_FILE", "not a regular file", path, "Write it to a file first.");
  if (stats.size === 0) throw invalidInput("INPUT_EMPTY", "the file is empty", path, "Was anything dumped?");
  refuseUnread(readHead(path, 8), path);
  let descriptor: number;
  try {
    descriptor = openRegular(path).fd;
  } catch (error) {
    throw fileError(error, path);
  }
  try {
    const read = (target: Uint8Array): number => {
      try {
        return readSync(descriptor, target, 0, target.length, null);
      } catch (error) {
        throw fileError(error, path);
      }
    };
    return readSnapshot({ size: fstatSync(descriptor).size, read }, path);
  } finally {
    closeSync(descriptor);
  }
}

/** Bytes of a database's first page, which contains the names of its tables. */
const SCHEMA_BYTES = 1 << 16;

/** Whether a path is a SQLite database with PyTorch's traces. */
export function isSnapshotDatabase(path: string): boolean {
  const stats = statInput(path);
  if (!stats.isFile() || stats.size === 0) return false;
  const head = readHead(path, SCHEMA_BYTES).toString("latin1");
  return head.startsWith("SQLite format 3\u0000") && head.includes("device_traces");
}

/**
 * Read PyTorch's snapshot in a SQLite database.
 * @throws GateError INPUT_TOO_LARGE above 500 MiB, SQLITE_UNREADABLE and those of `readSnapshotTables`
 */
export async function readSnapshotDatabase(path: string): Promise<TorchSnapshot> {
  const [{ readSqlite }, { readSnapshotTables }] = await Promise.all([
    import("../telemetry/formats/sqlite.ts"),
    import("../snapshot/database.ts"),
  ]);
  const remedy =
    "Dump it with _dump_snapshot instead: a pickle of any size is read. Or record with a smaller max_entries.";
  return readSqlite(path, (rows) => readSnapshotTables(rows, statInput(path).size, path), remedy);
}

/** Snapshots with the rank and step of their file names. */
export async function readSnapshotFiles(paths: readonly string[]): Promise<readonly NamedSnapshot[]> {
  const read: NamedSnapshot[] = [];
  for (const file of paths) {
    const snapshot = isSnapshotDatabase(file) ? await readSnapshotDatabase(file) : readSnapshotFile(file);
    read.push({ file, name: snapshotName(file), snapshot });
  }
  return read;
}
