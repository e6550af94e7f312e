import path from "node:path";
import { readBounded } from "../../core/files.ts";

/** The texts of source lines below a directory, each file read once. */
export class SourceTexts {
  readonly #directory: string;
  readonly #files = new Map<string, readonly string[] | null>();

  /** @param directory absolute; in which relative names of files are resolved */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** The text of a line, trimmed; null when it cannot be read. */
  at({ file, line }: { readonly file: string; readonly line: number }): string | null {
    const lines = this.#files.has(file) ? this.#files.get(file) : this.#read(file);
    const text = lines?.[line - 1]?.trim() ?? "";
    return text === "" ? null : text.slice(0, 200);
  }

  #read(file: string): readonly string[] | null {
    let lines: readonly string[] | null = null;
    try {
      // The path comes from the measured program: reading a device or a pipe might never end.
      lines = readBounded(path.resolve(this.#directory, file), 4 * 1024 * 1024)
        .toString("utf8")
        .split("\n");
    } catch {
      // Generated code, or a file that is gone.
    }
    this.#files.set(file, lines);
    return lines;
  }
}
