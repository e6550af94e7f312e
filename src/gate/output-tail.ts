import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import path from "node:path";

/** Bytes of the command's output that an error shows. */
const TAIL_BYTES = 2048;

/** The last line of a text that does not end in blanks. */
export const lastLine = (text: string): string => text.slice(text.lastIndexOf("\n") + 1).trim();

/** The last whole lines of the command's output; null when it printed nothing or nothing was kept. */
export function outputTail(runDirectory: string): string | null {
  try {
    const fd = openSync(path.join(runDirectory, "output.log"), "r");
    try {
      const size = fstatSync(fd).size;
      const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
      readSync(fd, bytes, 0, bytes.length, size - bytes.length);
      const text = bytes.toString("utf8");
      const whole = size > TAIL_BYTES ? text.slice(text.indexOf("\n") + 1) : text;
      return whole.trim() === "" ? null : whole.trimEnd();
    } finally {
      closeSync(fd);
    }
  } catch {
    return null;
  }
}
