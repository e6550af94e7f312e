import { randomBytes } from "node:crypto";
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";

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
    const handle = await open(partial, "wx");
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true }).catch(() => {});
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

/** Why a JSON file could not be read. */
export type JsonProblem =
  | { readonly kind: "absent" | "unreadable" | "truncated"; readonly cause: NodeJS.ErrnoException }
  | { readonly kind: "empty" }
  | { readonly kind: "too-large"; readonly bytes: number };

/** Content of a JSON file. @param refuse makes the caller's own error, with its code and its hint */
export function readJson(
  file: string,
  refuse: (problem: JsonProblem) => Error,
  maxBytes = Number.POSITIVE_INFINITY,
): unknown {
  let text: string;
  try {
    const { size } = statSync(file);
    if (size > maxBytes) throw refuse({ kind: "too-large", bytes: size });
    text = readFileSync(file, "utf8");
  } catch (error) {
    const cause = error as NodeJS.ErrnoException;
    if (cause.code === undefined || cause.syscall === undefined) throw error;
    throw refuse({ kind: cause.code === "ENOENT" || cause.code === "ENOTDIR" ? "absent" : "unreadable", cause });
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw refuse(text.trim() === "" ? { kind: "empty" } : { kind: "truncated", cause: error as Error });
  }
}
