import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import path from "node:path";
import { OOM_FILE, type ProbeOom, probeOom } from "./probe-record.ts";

/** Directory of the probe's files in a run directory. */
export const PROBE_FOLDER = "probe";

/**
 * Maximum number of records of one run. A loop that swallows errors may write more, and the first ones contain the
 * cause.
 */
const MAX_RECORDS = 64;
/** Maximum number of bytes of one file: a record contains one traceback. */
const MAX_BYTES = 1 << 20;

/**
 * The text of a small regular file; null when there is none. Never follows a link and never blocks: the measured
 * program can put anything under these names.
 */
export function smallText(file: string): string | null {
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return null;
  }
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) return null;
    const bytes = Buffer.alloc(Math.min(stats.size, MAX_BYTES));
    return bytes.toString("utf8", 0, readSync(descriptor, bytes, 0, bytes.length, 0));
  } catch {
    return null;
  } finally {
    closeSync(descriptor);
  }
}

/**
 * The out-of-memory records that the probe left in a run directory, by process and number; empty when there are none.
 */
export function readProbeOoms(runDirectory: string): ProbeOom[] {
  const directory = path.join(runDirectory, PROBE_FOLDER);
  let names: string[];
  try {
    names = readdirSync(directory).filter((name) => OOM_FILE.test(name));
  } catch {
    return [];
  }
  names.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  return names.slice(0, MAX_RECORDS).flatMap((name) => {
    const text = smallText(path.join(directory, name));
    if (text === null) return [];
    const base = OOM_FILE.exec(name)?.[1] ?? "";
    return [probeOom(name, text, smallText(path.join(directory, `${base}.info`)) ?? "")];
  });
}
