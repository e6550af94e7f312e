import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  promises,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { MIB } from "./units.ts";

// `promises`, not `node:fs/promises`: every step of the Action has this file, and Node loads that part when it is used.

/** Ending of a file that is still being written; one that remains was left by a process that died. */
export const PARTIAL = ".partial";

/** A unique name, because two processes may write the same file. */
function partialOf(file: string): string {
  return `${file}.${randomBytes(6).toString("hex")}${PARTIAL}`;
}

/** Write so that a reader finds all or nothing, also after a loss of power: flush under another name, then rename. */
export async function writeAtomically(file: string, content: string | Uint8Array): Promise<void> {
  const partial = partialOf(file);
  try {
    const handle = await promises.open(partial, "wx");
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await promises.rename(partial, file);
  } catch (error) {
    await promises.rm(partial, { force: true }).catch(() => {});
    throw error;
  }
}

/** {@link writeAtomically} without the flush: the file survives the end of this process, not a loss of power. */
export function writeAtomicallySync(file: string, content: string): void {
  const partial = partialOf(file);
  try {
    writeFileSync(partial, content, { flag: "wx" });
    renameSync(partial, file);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

/** `code` of the error for a FIFO, socket or device, which the measured command may have put in a file's place. */
export const NOT_A_FILE = "NOT_A_REGULAR_FILE";
/** `code` of the error for a file of more bytes than it may have. */
export const TOO_LARGE = "FILE_TOO_LARGE";

/** Links are followed where a user may have made them, and refused for files of our own. */
type Links = "follow" | "refuse";

/** The error of a file that this module refuses, in the form of the system's own. */
interface FileRefusal extends NodeJS.ErrnoException {
  readonly bytes: number;
}

/** Flags that read a file of our own: never through a link, never waiting for the writer of a FIFO. */
export const READ_OWN = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

/** Flags that write into a file of our own, made where absent: no link is followed, no reader of a FIFO awaited. */
const WRITE_OWN = constants.O_WRONLY | constants.O_CREAT | constants.O_NONBLOCK | constants.O_NOFOLLOW;

function refuse(code: string, message: string, file: string, bytes = 0): FileRefusal {
  return Object.assign(new Error(`${message}: ${file}`), { code, syscall: "open", path: file, bytes });
}

/**
 * Open a file for reading without ever waiting for one: anything but a regular file is refused.
 * @throws the system's error (EISDIR for a directory), {@link NOT_A_FILE}
 */
export function openRegular(file: string, links: Links = "follow"): OpenFile {
  return regular(file, openSync(file, links === "refuse" ? READ_OWN : constants.O_RDONLY | constants.O_NONBLOCK));
}

interface OpenFile {
  readonly fd: number;
  readonly stats: Stats;
}

function regular(file: string, fd: number): OpenFile {
  const stats = fstatSync(fd);
  if (stats.isFile()) return { fd, stats };
  closeSync(fd);
  if (stats.isDirectory()) throw refuse("EISDIR", "is a directory", file);
  throw refuse(NOT_A_FILE, "not a regular file", file);
}

/**
 * Replace or extend a file whose name measured code could know: never through a link, and without waiting for a FIFO.
 * @param contentFor content for a file of this many bytes; null leaves it as it is
 * @throws the system's error (ELOOP for a link, EISDIR, ENXIO for a FIFO), {@link NOT_A_FILE}
 */
export function writeOwn(
  file: string,
  mode: "replace" | "append",
  contentFor: (bytes: number) => string | Uint8Array | null,
): void {
  const { fd, stats } = regular(file, openSync(file, WRITE_OWN | (mode === "append" ? constants.O_APPEND : 0)));
  try {
    const content = contentFor(stats.size);
    if (content === null) return;
    if (mode === "replace") ftruncateSync(fd);
    writeFileSync(fd, content);
  } finally {
    closeSync(fd);
  }
}

/**
 * Content of a regular file of at most `maxBytes`, which never waits for a FIFO and never fills the memory.
 * @throws the system's error, {@link NOT_A_FILE}, {@link TOO_LARGE}
 */
export function readBounded(file: string, maxBytes: number, links: Links = "follow"): Buffer {
  const { fd, stats } = openRegular(file, links);
  try {
    const checked = (bytes: number): number => {
      if (bytes > maxBytes) throw refuse(TOO_LARGE, `${bytes} bytes, more than ${maxBytes}`, file, bytes);
      return bytes;
    };
    const pieces: Buffer[] = [];
    let bytes = 0;
    // The kernel's own files have no size, and one that is being written may have grown.
    for (let next = checked(stats.size) + 1; ; next = MIB) {
      const piece = Buffer.allocUnsafe(next);
      const read = readSync(fd, piece, 0, next, null);
      if (read === 0) return Buffer.concat(pieces, bytes);
      bytes = checked(bytes + read);
      pieces.push(piece.subarray(0, read));
    }
  } finally {
    closeSync(fd);
  }
}

function readPart(file: string, maxBytes: number, links: Links, from: (size: number) => number): Buffer {
  const { fd, stats } = openRegular(file, links);
  try {
    const part = Buffer.alloc(Math.min(stats.size, maxBytes));
    return part.subarray(0, readSync(fd, part, 0, part.length, from(stats.size)));
  } finally {
    closeSync(fd);
  }
}

/** Up to `maxBytes` of the beginning of a regular file. @throws as {@link openRegular} */
export function readHead(file: string, maxBytes: number, links: Links = "follow"): Buffer {
  return readPart(file, maxBytes, links, () => 0);
}

/** Up to `maxBytes` of the end of a regular file. @throws as {@link openRegular} */
export function readTail(file: string, maxBytes: number, links: Links = "follow"): Buffer {
  return readPart(file, maxBytes, links, (size) => Math.max(0, size - maxBytes));
}

/** The event of a workflow run, which the runner wrote to a file. @throws as {@link readBounded}, and SyntaxError */
export function readEvent(file: string): unknown {
  // Larger events are not the runner's.
  return JSON.parse(readBounded(file, 64 * MIB).toString("utf8"));
}

/** Why a JSON file could not be read. */
export type JsonProblem =
  | { readonly kind: "absent" | "unreadable" | "truncated"; readonly cause: NodeJS.ErrnoException }
  | { readonly kind: "empty" }
  | { readonly kind: "too-large"; readonly bytes: number };

/** Content of a JSON file. @param refuse makes the caller's own error, with its code and its hint */
export function readJson(file: string, refuse: (problem: JsonProblem) => Error, maxBytes = 256 * MIB): unknown {
  let text: string;
  try {
    text = readBounded(file, maxBytes).toString("utf8");
  } catch (error) {
    const cause = error as NodeJS.ErrnoException;
    if (cause.code === TOO_LARGE) throw refuse({ kind: "too-large", bytes: (error as FileRefusal).bytes });
    if (cause.code === undefined || cause.syscall === undefined) throw error;
    throw refuse({ kind: cause.code === "ENOENT" || cause.code === "ENOTDIR" ? "absent" : "unreadable", cause });
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw refuse(text.trim() === "" ? { kind: "empty" } : { kind: "truncated", cause: error as Error });
  }
}

/**
 * An absolute path, existing or not, without links: the measured command could make one on the way lead elsewhere.
 */
export function withoutLinks(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    const parent = path.dirname(file);
    return parent === file ? file : path.join(withoutLinks(parent), path.basename(file));
  }
}

/**
 * Make a directory and those above it that are missing, one by one: asked for all of them at once, Node reports a
 * read-only file system as ENOENT, and never returns in one that holds no directories of ours, as /proc.
 * @throws the error of the first directory that could not be made
 */
export function makeDirectories(directory: string): void {
  const missing: string[] = [];
  for (let at = path.resolve(directory); !existsSync(at) && path.dirname(at) !== at; at = path.dirname(at)) {
    missing.push(at);
  }
  if (missing.length === 0) missing.push(path.resolve(directory));
  for (const directory of missing.reverse()) {
    try {
      mkdirSync(directory);
    } catch (error) {
      // Another process of the same job may have been first.
      if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
    }
  }
}
