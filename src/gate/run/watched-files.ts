import { createHash } from "node:crypto";
import { type BigIntStats, lstatSync, mkdirSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { codeOf } from "../../core/errors.ts";
import { readBounded } from "../../core/files.ts";
import { treeBelow } from "../../core/tree.ts";
import { REPORT_FILES } from "../../report/bundle/bundle.ts";

/** Larger than any file of the gate. Of a larger one only its identity and times are compared. */
const MAX_BYTES = 4 << 20;

interface FileState {
  readonly inode: bigint;
  readonly size: bigint;
  readonly changed: bigint;
  /** Null = not a regular file, too large, or unreadable. */
  readonly digest: string | null;
}

/** A digest of a regular file, without waiting for the writer of a pipe. */
function digestOf(file: string): string | null {
  try {
    return createHash("sha256").update(readBounded(file, MAX_BYTES)).digest("hex");
  } catch {
    return null;
  }
}

function statOf(file: string, stat: typeof lstatSync = statSync): BigIntStats | null {
  try {
    return stat(file, { bigint: true });
  } catch {
    return null;
  }
}

function stateOf(file: string): FileState | null {
  const stats = statOf(file);
  if (stats === null) return null;
  return { inode: stats.ino, size: stats.size, changed: stats.ctimeNs, digest: digestOf(file) };
}

/** The records of a directory by absolute path, and whatever else has such a name. */
function recordsIn(directory: string): readonly string[] {
  // Files and directories to list at most: a measured command may leave any number.
  const { entries } = treeBelow(directory, 10_000);
  return entries.filter(({ path: name }) => name.endsWith(".json")).map(({ path: name }) => path.join(directory, name));
}

type Deed = "rewritten" | "removed" | "made unreadable" | "added";

/** What became of a file; null when it has the content that it had. */
function deedOf(file: string, before: FileState): Exclude<Deed, "added"> | null {
  const stats = statOf(file);
  if (stats === null) return isHidden(file) ? "made unreadable" : "removed";
  if (stats.ino === before.inode && stats.size === before.size && stats.ctimeNs === before.changed) return null;
  const digest = digestOf(file);
  if (digest !== null && digest === before.digest) return null;
  return digest === null && stats.isFile() && stats.size <= MAX_BYTES ? "made unreadable" : "rewritten";
}

/** Whether a path cannot be looked at, as in a directory without permissions. */
function isHidden(file: string): boolean {
  try {
    lstatSync(file);
    return false;
  } catch (error) {
    return codeOf(error) === "EACCES";
  }
}

/** What to watch while commands run. */
export interface Watched {
  /** Directory that names are printed relative to. */
  readonly root: string;
  readonly files: readonly string[];
  /** Directories of baseline records. */
  readonly directories: readonly string[];
}

/** Reports what is done to the files that the gate has read, while the commands of a scenario run. */
export class WatchedFiles {
  readonly #watched: Watched;
  readonly #before: ReadonlyMap<string, FileState>;

  constructor(watched: Watched) {
    this.#watched = watched;
    this.#before = new Map(
      this.#list().flatMap((file): [string, FileState][] => {
        const state = stateOf(file);
        return state === null ? [] : [[file, state]];
      }),
    );
  }

  #list(): readonly string[] {
    const { files, directories } = this.#watched;
    return [...new Set([...files, ...directories.flatMap(recordsIn)])];
  }

  /** One sentence for each kind of change since the start. */
  changes(): readonly string[] {
    const deeds = new Map<Deed, string[]>();
    const note = (deed: Deed, file: string): void => {
      deeds.set(deed, [...(deeds.get(deed) ?? []), path.relative(this.#watched.root, file)]);
    };
    for (const [file, before] of this.#before) {
      const deed = deedOf(file, before);
      if (deed !== null) note(deed, file);
    }
    for (const file of this.#list()) if (!this.#before.has(file) && statOf(file) !== null) note("added", file);
    return [...deeds].map(([deed, files]) => sentence(deed, files.sort()));
  }
}

function sentence(deed: Deed, [first = "", ...others]: readonly string[]): string {
  const many = others.length > 0;
  const what = many
    ? `${first} and ${others.length} more ${others.length > 1 ? "files were" : "file were"}`
    : `${first} was`;
  const instead =
    deed === "added"
      ? many
        ? "they were not used"
        : "it was not used"
      : `the ${many ? "copies" : "copy"} read before the run ${many ? "were" : "was"} used`;
  return `${what} ${deed} during the run; ${instead}.`;
}

/** The bundle's directory, which the measured command can write to as well. */
export class BundleGuard {
  readonly #directory: string;
  readonly #inode: bigint | null;
  #deed: string | null = null;

  constructor(directory: string) {
    this.#directory = directory;
    this.#inode = statOf(directory, lstatSync)?.ino ?? null;
  }

  /** Makes the directory usable again where it was removed or replaced. Call it before the gate writes to it. */
  restore(): void {
    const stats = statOf(this.#directory, lstatSync);
    if (stats !== null && stats.ino === this.#inode) return;
    this.#deed ??= stats === null ? "removed" : "replaced";
    if (stats?.isDirectory() === true) return;
    try {
      rmSync(this.#directory, { force: true });
      mkdirSync(this.#directory, { recursive: true });
    } catch {
      // Writing the bundle reports it, with the reason.
    }
  }

  /** What was done to the bundle, one sentence each; removes reports that the gate has not written. */
  changes(): readonly string[] {
    this.restore();
    const forged = REPORT_FILES.filter((name) => statOf(path.join(this.#directory, name), lstatSync) !== null);
    for (const name of forged) {
      try {
        rmSync(path.join(this.#directory, name), { recursive: true, force: true });
      } catch {
        // Writing the report reports it, with the reason.
      }
    }
    return [
      ...(this.#deed === null
        ? []
        : [`The bundle's directory was ${this.#deed} during the run; files of earlier runs may be missing.`]),
      ...(forged.length === 0 ? [] : [`${forged.join(", ")} appeared in the bundle during the run and was replaced.`]),
    ];
  }
}
