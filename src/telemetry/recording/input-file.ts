import { closeSync, readSync, type Stats, statSync } from "node:fs";
import { codeOf, type GateError, invalidInput, messageOf } from "../../core/errors.ts";
import { NOT_A_FILE, openRegular, TOO_LARGE } from "../../core/files.ts";

/** A `GateError` for a failed file operation: not found, no permission, a directory, or another system error. */
export function fileError(error: unknown, path: string): GateError {
  switch (codeOf(error)) {
    case "ENOENT":
    case "ENOTDIR":
      return invalidInput("INPUT_NOT_FOUND", "the file does not exist", path, "Check the path.");
    case "EACCES":
    case "EPERM":
      return invalidInput("INPUT_NO_PERMISSION", "permission denied", path, "Check its permissions.");
    case "EISDIR":
      return invalidInput("INPUT_IS_DIRECTORY", "expected a file, got a directory", path, "Name a file in it.");
    case NOT_A_FILE:
      return invalidInput("INPUT_NOT_A_FILE", "not a regular file", path, "Write the data to a file first.");
    case TOO_LARGE:
      return invalidInput("INPUT_TOO_LARGE", messageOf(error), path);
    default:
      return invalidInput(
        "INPUT_UNREADABLE",
        `the file cannot be read (${messageOf(error)})`,
        path,
        "Check the path and the disk.",
      );
  }
}

/** What `read` returns; its error of a file operation as a `GateError`. */
export function withFileErrors<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw fileError(error, path);
  }
}

/** Maximum number of ranks and devices in one file; the analysis needs a few kilobytes for each. */
const MAX_TABLES = 40_000;
const MAX_COLUMNS = 120_000;

/**
 * @param width columns of each
 * @throws GateError INPUT_TOO_LARGE for more ranks and devices than one file may contain
 */
export function checkTableCount(count: number, name: string, width = 1): void {
  if (count <= MAX_TABLES && count * width <= MAX_COLUMNS) return;
  throw invalidInput(
    "INPUT_TOO_LARGE",
    `the file contains too many ranks and devices (more than ${count - 1} pairs)`,
    name,
    "Split it by rank, and give the parts together.",
  );
}

/** @throws GateError INPUT_NOT_FOUND, INPUT_NO_PERMISSION, INPUT_UNREADABLE */
export const statInput = (path: string): Stats => withFileErrors(path, () => statSync(path));

/**
 * The file's bytes, a few MiB at a time. Each chunk is a fresh buffer, so a consumer may keep it.
 * @throws GateError INPUT_NOT_FOUND, INPUT_NO_PERMISSION, INPUT_IS_DIRECTORY, INPUT_NOT_A_FILE, INPUT_UNREADABLE
 */
export function* readChunks(path: string, chunkBytes: number = 4 << 20): Generator<Buffer, void, undefined> {
  const { fd } = withFileErrors(path, () => openRegular(path));
  try {
    for (;;) {
      const buffer = Buffer.allocUnsafeSlow(chunkBytes);
      const size = withFileErrors(path, () => readSync(fd, buffer, 0, buffer.length, null));
      if (size === 0) return;
      yield buffer.subarray(0, size);
    }
  } finally {
    closeSync(fd);
  }
}

/** The first `size` bytes (fewer when the file is shorter). */
export function readHead(path: string, size: number): Buffer {
  for (const chunk of readChunks(path, size)) return chunk;
  return Buffer.alloc(0);
}

/** First bytes of every SQLite database. */
export const SQLITE_MAGIC = "SQLite format 3\u0000";

/** @throws GateError INPUT_COMPRESSED for a file that begins like an archive */
export function refuseCompressed(head: Uint8Array, path: string): void {
  if (head[0] === 0x1f && head[1] === 0x8b)
    throw invalidInput("INPUT_COMPRESSED", "the file is gzip-compressed", path, "Decompress it first.");
  if (Buffer.from(head).toString("latin1", 0, 4) === "PK\u0003\u0004")
    throw invalidInput("INPUT_COMPRESSED", "the file is a zip archive", path, "Unpack it first.");
}
