import { rmSync } from "node:fs";
import path from "node:path";
import { messageOf } from "../../core/errors.ts";
import { makeDirectories, writeAtomicallySync } from "../../core/files.ts";

/** Directory of the out-of-memory evidence in a run directory. */
export const OOM_FOLDER = "oom";

/** Maximum number of named files that could not be written. */
const MAX_NAMED = 5;

/** Writes files one after another. A failure (a full disk) is recorded and does not prevent the others. */
export class EvidenceWriter {
  readonly files: string[] = [];
  readonly #failed: string[] = [];
  #cause = "";
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** @returns whether it was written */
  put(name: string, write: (file: string) => void): boolean {
    const file = path.join(this.#directory, name);
    try {
      makeDirectories(path.dirname(file));
      write(file);
    } catch (error) {
      this.#failed.push(name);
      if (this.#cause === "") this.#cause = messageOf(error);
      this.#delete(file);
      return false;
    }
    this.files.push(`${OOM_FOLDER}/${name}`);
    return true;
  }

  text(name: string, text: string): boolean {
    return this.put(name, (file) => writeAtomicallySync(file, text));
  }

  /** Removes a whole directory. */
  remove(name: string): void {
    this.#delete(path.join(this.#directory, name));
    const gone = `${OOM_FOLDER}/${name}/`;
    this.files.splice(0, this.files.length, ...this.files.filter((file) => !file.startsWith(gone)));
  }

  /** One sentence about all files that could not be written; null without any. */
  loss(): string | null {
    if (this.#failed.length === 0) return null;
    const named = this.#failed.slice(0, MAX_NAMED).join(", ");
    const more = this.#failed.length > MAX_NAMED ? ` and ${this.#failed.length - MAX_NAMED} more` : "";
    return `${OOM_FOLDER}/ is not complete: ${named}${more} could not be written (${this.#cause})`;
  }

  /** A partial file is worse than none. If it cannot be deleted, it stays. */
  #delete(file: string): void {
    try {
      rmSync(file, { recursive: true, force: true });
    } catch {
      // The recorded cause explains it.
    }
  }
}
