import path from "node:path";
import { readTail } from "../../core/files.ts";

/** Bytes of the command's output that an error shows. */
const TAIL_BYTES = 2048;

/** The last line of a text that does not end in blanks. */
export const lastLine = (text: string): string => text.slice(text.lastIndexOf("\n") + 1).trim();

/** The last whole lines of the command's output; null when it printed nothing or nothing was kept. */
export function outputTail(runDirectory: string): string | null {
  try {
    const bytes = readTail(path.join(runDirectory, "output.log"), TAIL_BYTES + 1, "refuse");
    const text = bytes.toString("utf8");
    const whole = bytes.length > TAIL_BYTES ? text.slice(text.indexOf("\n") + 1) : text;
    return whole.trim() === "" ? null : whole.trimEnd();
  } catch {
    return null;
  }
}
