import { createHash } from "node:crypto";
import { accessSync, constants, lstatSync, promises } from "node:fs";
import path from "node:path";
import { codeOf, GateError, messageOf } from "../../core/errors.ts";
import { PARTIAL, READ_OWN, writeAtomically } from "../../core/files.ts";
import { treeBelow } from "../../core/tree.ts";

/** Write a file of the bundle, all of it or nothing; throws DISK_FULL, NO_PERMISSION or BUNDLE_WRITE_FAILED. */
export async function writeBundleFile(file: string, content: string | Uint8Array): Promise<void> {
  await writeAtomically(file, content).catch((cause: unknown) => {
    throw writeError(cause, file);
  });
}

/** Why a path cannot be written, by the system's code. */
const REASONS: Readonly<Record<string, string>> = {
  EEXIST: "a file of this name is in the way",
  ENOTDIR: "a file is where a directory has to be",
  ENOENT: "no directory can be made there",
  ENAMETOOLONG: "the name is too long for the file system",
};

/** The error for a failed write. */
export function writeError(cause: unknown, where: string): GateError {
  const code = codeOf(cause);
  const reason = REASONS[code ?? ""] ?? "could not write";
  const full = code === "ENOSPC" || code === "EDQUOT";
  const denied = code === "EACCES" || code === "EPERM" || code === "EROFS";
  return new GateError(
    full ? "DISK_FULL" : denied ? "NO_PERMISSION" : "BUNDLE_WRITE_FAILED",
    full ? "the disk is full" : denied ? "permission denied" : `${reason} (${code ?? "unknown reason"})`,
    {
      where,
      hint: full
        ? "Free some space and run again. The bundle contains what was written before."
        : "Choose another directory with --bundle, or change its permissions.",
      cause,
    },
  );
}

export interface ListedFile {
  /** Within the bundle, with forward slashes. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * Bounds of what is digested and uploaded, for files that the measured command may have left. A gate's own files are
 * far smaller; a sparse file can have any size.
 */
export const LIMITS = { fileBytes: 2 ** 30, bytes: 2 ** 31, entries: 50_000 };

interface FoundFile {
  /** Within the directory, with forward slashes. */
  readonly path: string;
  readonly bytes: number;
}

export interface LeftOut {
  readonly path: string;
  readonly reason: string;
}

interface Below {
  readonly found: FoundFile[];
  readonly leftOut: LeftOut[];
}

/** Regular files below a directory, without remains of an interrupted write. */
export function filesBelow(directory: string, maxEntries: number): Below {
  const { entries, unread } = treeBelow(directory, maxEntries);
  const [first] = unread;
  if (first?.path === "" && codeOf(first.cause) !== undefined) throw first.cause;
  const below: Below = {
    found: [],
    leftOut: unread.map(({ path: at, cause }) => ({ path: at || ".", reason: reasonOf(cause) })),
  };
  for (const { path: name, entry } of entries) {
    if (entry.isFile() && !name.endsWith(PARTIAL)) take(directory, name, below);
  }
  return below;
}

/** The command may have left files without permissions, or with names that are no text. */
function take(directory: string, name: string, { found, leftOut }: Below): void {
  // GitHub's artifact service takes no file of a bundle with such a name in it. A backslash becomes a slash in an
  // archive, where "\\report.json" would be a second report.
  if (/["\\:<>|*?\r\n]/.test(name)) {
    leftOut.push({ path: name, reason: "no artifact may contain a file of this name" });
    return;
  }
  try {
    accessSync(path.join(directory, name), constants.R_OK);
    found.push({ path: name, bytes: lstatSync(path.join(directory, name)).size });
  } catch (error) {
    leftOut.push({ path: name, reason: reasonOf(error) });
  }
}

const reasonOf = (error: unknown): string => `cannot be read (${codeOf(error) ?? messageOf(error)})`;

interface BundleFiles {
  /** By path. */
  readonly files: readonly FoundFile[];
  readonly leftOut: readonly LeftOut[];
}

/** The smaller files where there are more than the limits allow. Those in `known` are not limited. */
function withinLimits(found: readonly FoundFile[], known: ReadonlySet<string> = new Set()): BundleFiles {
  const byPath = (a: FoundFile, b: FoundFile): number => (a.path < b.path ? -1 : 1);
  const leftOut: LeftOut[] = [];
  let total = 0;
  const files = [...found]
    .sort((a, b) => a.bytes - b.bytes || byPath(a, b))
    .filter(({ path: name, bytes }) => {
      if (known.has(name)) return true;
      const fits = bytes <= LIMITS.fileBytes && total + bytes <= LIMITS.bytes;
      if (fits) total += bytes;
      else leftOut.push({ path: name, reason: `${bytes} bytes are too large for a bundle` });
      return fits;
    });
  return { files: files.sort(byPath), leftOut };
}

/** Files of a bundle {@link withinLimits}. Those in `known` were written or checked by this process. */
export function bundleFiles(directory: string, known?: ReadonlySet<string>): BundleFiles {
  const { found, leftOut } = filesBelow(directory, LIMITS.entries + (known?.size ?? 0));
  const within = withinLimits(found, known);
  return { files: within.files, leftOut: [...leftOut, ...within.leftOut].slice(0, 100) };
}

/** {@link bundleFiles} with digests. Files in `listed` keep their known ones and are not read. */
export async function listFiles(
  directory: string,
  { skip, listed }: { skip?: ReadonlySet<string>; listed?: readonly ListedFile[] } = {},
): Promise<{ readonly files: ListedFile[]; readonly leftOut: readonly LeftOut[] }> {
  const known = new Map(listed?.map((file) => [file.path, file]));
  const found = bundleFiles(directory, new Set(known.keys()));
  const files: ListedFile[] = [];
  for (const { path: name } of found.files) {
    if (skip?.has(name)) continue;
    files.push(known.get(name) ?? { path: name, ...(await digest(path.join(directory, name))) });
  }
  return { files, leftOut: found.leftOut };
}

/** Read at once. Most files of a bundle have a few kilobytes, and a stream would cost more than reading them. */
const PIECE_BYTES = 1 << 18;

export async function digest(file: string): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash("sha256");
  const handle = await promises.open(file, READ_OWN);
  try {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, (await handle.stat()).size + 1));
    let bytes = 0;
    for (;;) {
      const { bytesRead } = await handle.read(piece, 0, piece.length, null);
      if (bytesRead === 0) return { bytes, sha256: hash.digest("hex") };
      hash.update(piece.subarray(0, bytesRead));
      bytes += bytesRead;
    }
  } finally {
    await handle.close();
  }
}
