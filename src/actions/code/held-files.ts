import { createHash } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { GateError } from "../../core/errors.ts";
import {
  type HeldFiles,
  holdFiles,
  nativeDirectory,
  type PackedCode,
  packageRoot,
  packedCode,
} from "../../core/package-root.ts";
import type { Environment } from "../../core/process/environment.ts";
import { plural } from "../../core/text.ts";

interface HeldFile {
  readonly bytes: Buffer;
  readonly mode: number;
}

/** Permissions of what a run may read and start, as the installation has them. */
const COPY_MODE = 0o755;
const NATIVE = ["launcher", "libstormlog_heap.so", "libstormlog_stacks.so", "sampler.node"] as const;
const MAX_NAMES = 3;

function contentOf(file: string): HeldFile | null {
  const entry = lstatSync(file, { throwIfNoEntry: false });
  return entry?.isFile() === true ? { bytes: readFileSync(file), mode: entry.mode & 0o777 } : null;
}

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

function shown(names: readonly string[]): string {
  const rest = names.length - MAX_NAMES;
  return `${names.slice(0, MAX_NAMES).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

/** A directory, in place of whatever has its name now. */
function makeDirectory(directory: string): void {
  const entry = lstatSync(directory, { throwIfNoEntry: false });
  if (entry?.isDirectory() === true) {
    if ((entry.mode & 0o700) !== 0o700) chmodSync(directory, entry.mode | 0o700);
    return;
  }
  if (entry !== undefined) rmSync(directory, { force: true });
  mkdirSync(directory, { mode: COPY_MODE });
}

/** What was changed since the files were read, by path in the package. */
export interface Changes {
  readonly restored: readonly string[];
  /** Files of the command line, of which only the digests are known, and what could not be written. */
  readonly left: readonly string[];
}

/**
 * The Action's files in memory, read before anything is measured. The measured program runs as the Action's user and
 * may change all of them: the steps' code, what every run starts, and what the next steps of the job load.
 */
export class ActionFiles implements HeldFiles {
  readonly copies: string;
  readonly native: boolean;
  readonly #code: PackedCode;
  readonly #root: string;
  /** By absolute path. */
  readonly #held = new Map<string, HeldFile>();
  readonly #nativeSource: string;
  /** Private; has nothing before the first run. */
  readonly #base: string;
  #renewed = 0;

  /** @throws GateError CODE_CHANGED; Error when no directory can be made */
  constructor(code: PackedCode, root: string, native: string, temporary: string) {
    this.#code = code;
    this.#root = root;
    this.#nativeSource = native;
    const names = Object.keys(code.files).filter((name) => !/^(?:cli\.js|licenses\.txt|chunks\/.*)$/.test(name));
    const action = path.join(code.dist, "action");
    for (const file of [
      ...names.map((name) => path.join(code.dist, name)),
      ...readdirSync(action).map((name) => path.join(action, name)),
      ...NATIVE.map((name) => path.join(native, name)),
      path.join(root, "package.json"),
    ]) {
      const content = contentOf(file);
      if (content !== null) this.#held.set(file, content);
    }
    // The one that is executed, whatever lies there by now.
    const pack = path.join(action, "code.js");
    this.#held.set(pack, { bytes: code.bytes, mode: this.#held.get(pack)?.mode ?? 0o644 });
    for (const name of names) if (!name.startsWith("assets/")) this.read(name);
    this.native = this.#held.has(path.join(native, "sampler.node"));
    this.#base = mkdtempSync(path.join(temporary, "stormlog-run-"));
    this.copies = path.join(this.#base, "files");
  }

  read(name: string): Buffer | null {
    const content = this.#held.get(path.join(this.#code.dist, name));
    const digest = this.#code.files[name];
    if (content === undefined || digest === undefined) return null;
    if (sha256(content.bytes) === digest) return content.bytes;
    throw new GateError("CODE_CHANGED", `${name} is not the file that this Action was built with`, {
      where: path.join(this.#code.dist, name),
      hint: "Run the job again: it downloads the Action again. An earlier step of the job may have changed its files.",
    });
  }

  renewCopies(): void {
    makeDirectory(this.#base);
    chmodSync(this.#base, COPY_MODE);
    try {
      rmSync(this.copies, { recursive: true, force: true });
    } catch {
      // Directories without permissions; nothing uses them under this name.
      this.#renewed += 1;
      renameSync(this.copies, path.join(this.#base, `old-${this.#renewed}`));
    }
    mkdirSync(this.copies, { mode: COPY_MODE });
    const made = new Set([this.copies]);
    for (const [file, { bytes }] of this.#held) {
      const name = this.#copyName(file);
      if (name === null) continue;
      const copy = path.join(this.copies, name);
      const directory = path.dirname(copy);
      if (!made.has(directory)) mkdirSync(directory, { recursive: true, mode: COPY_MODE });
      made.add(directory);
      writeFileSync(copy, bytes, { flag: "wx", mode: COPY_MODE });
    }
  }

  /** Where a run finds the copy of a file; null when no run starts it. */
  #copyName(file: string): string | null {
    if (path.dirname(file) === this.#nativeSource) {
      return path.basename(file) === "sampler.node" ? null : path.join("native", path.basename(file));
    }
    const name = path.relative(this.#code.dist, file);
    return name.startsWith(`probe${path.sep}`) ? name : null;
  }

  /** Compare the installation with what was read, once nothing that was measured runs, and restore it. */
  restore(): Changes {
    const restored: string[] = [];
    const left: string[] = [];
    const name = (file: string): string => path.relative(this.#root, file).split(path.sep).join("/");
    const attempt = (file: string, repair: () => boolean): void => {
      try {
        if (repair()) restored.push(name(file));
      } catch {
        left.push(name(file));
      }
    };
    for (const [file, content] of this.#held) attempt(file, () => this.#restoreFile(file, content));
    // One of these would decide how Node reads the entries.
    for (const directory of [this.#code.dist, path.join(this.#code.dist, "action")]) {
      const foreign = path.join(directory, "package.json");
      attempt(foreign, () => {
        if (this.#held.has(foreign) || lstatSync(foreign, { throwIfNoEntry: false }) === undefined) return false;
        rmSync(foreign, { recursive: true, force: true });
        return true;
      });
    }
    for (const [known, digest] of Object.entries(this.#code.files)) {
      const file = path.join(this.#code.dist, known);
      if (this.#held.has(file)) continue;
      attempt(file, () => {
        const content = contentOf(file);
        if (content === null || sha256(content.bytes) !== digest) left.push(name(file));
        return false;
      });
    }
    return { restored: restored.sort(), left: left.sort() };
  }

  #restoreFile(file: string, { bytes, mode }: HeldFile): boolean {
    for (const directory of this.#directoriesOf(file)) makeDirectory(directory);
    const entry = lstatSync(file, { throwIfNoEntry: false });
    if (entry?.isFile() === true && entry.size === bytes.length) {
      const sameMode = (entry.mode & 0o777) === mode;
      if (!sameMode) chmodSync(file, mode);
      if (readFileSync(file).equals(bytes)) return !sameMode;
    }
    rmSync(file, { recursive: true, force: true });
    writeFileSync(file, bytes, { flag: "wx", mode });
    return true;
  }

  /** The directories of a file within the package, from above. */
  #directoriesOf(file: string): readonly string[] {
    const below = path.relative(this.#root, path.dirname(file)).split(path.sep);
    if (below[0] === "" || below[0] === "..") return [];
    return below.map((_, at) => path.join(this.#root, ...below.slice(0, at + 1)));
  }

  /** Remove the copies. */
  dispose(): void {
    try {
      rmSync(this.#base, { recursive: true, force: true });
    } catch {
      // The runner clears its temporary directory.
    }
  }
}

/** The warning about changed files, or null. */
export function changedWarning({ restored, left }: Changes): string | null {
  const changed = [...restored, ...left];
  if (changed.length === 0) return null;
  const rest = left.length === 0 ? "" : ` Not restored, so do not run them in this job: ${shown(left)}.`;
  const count = plural(changed.length, "file");
  return (
    `The measured command changed ${count} of this Action (${shown(changed)}). ` +
    `The gate ran from memory and restored ${restored.length}.${rest}`
  );
}

let current: (() => string | null) | null = null;

/**
 * Read the Action's files before measuring, once in a process. Without effect in sources.
 * @returns compares and restores them, and returns the warning about it; it is done again when the process ends
 * @throws GateError CODE_CHANGED
 */
export function holdOwnFiles(env: Environment, warn: (message: string) => void): () => string | null {
  const code = packedCode();
  if (code === null) return () => null;
  if (current !== null) return current;
  const files = new ActionFiles(code, packageRoot(), nativeDirectory(), env.RUNNER_TEMP || tmpdir());
  holdFiles(files);
  const reported = new Set<string>();
  const restore = (): string | null => {
    const { restored, left } = files.restore();
    const news = left.filter((name) => !reported.has(name));
    for (const name of left) reported.add(name);
    return changedWarning({ restored, left: news });
  };
  process.once("exit", () => {
    const again = restore();
    if (again !== null) warn(again);
    files.dispose();
  });
  current = restore;
  return restore;
}
