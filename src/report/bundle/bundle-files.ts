import { createHash } from "node:crypto";
import { open, readdir } from "node:fs/promises";
import path from "node:path";
import { GateError } from "../../core/errors.ts";
import { PARTIAL, writeAtomically } from "../../core/files.ts";

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
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  const reason = REASONS[String(code)] ?? "could not write";
  const full = code === "ENOSPC" || code === "EDQUOT";
  const denied = code === "EACCES" || code === "EPERM" || code === "EROFS";
  return new GateError(
    full ? "DISK_FULL" : denied ? "NO_PERMISSION" : "BUNDLE_WRITE_FAILED",
    full ? "the disk is full" : denied ? "permission denied" : `${reason} (${code ?? "unknown reason"})`,
    {
      kind: "error",
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
 * Every regular file below a directory, by path, without remains of an interrupted write. Files in `listed` keep their
 * known digests and are not read.
 */
export async function listFiles(
  directory: string,
  skip: ReadonlySet<string>,
  listed: readonly ListedFile[] = [],
): Promise<ListedFile[]> {
  const known = new Map(listed.map((file) => [file.path, file]));
  const files: ListedFile[] = [];
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name.endsWith(PARTIAL)) continue;
    const full = path.join(entry.parentPath, entry.name);
    const relative = path.relative(directory, full).split(path.sep).join("/");
    if (!skip.has(relative)) files.push(known.get(relative) ?? { path: relative, ...(await digest(full)) });
  }
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Read at once. Most files of a bundle have a few kilobytes, and a stream would cost more than reading them. */
const PIECE_BYTES = 1 << 18;

async function digest(file: string): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash("sha256");
  const handle = await open(file, "r");
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
