import { readdirSync } from "node:fs";
import path from "node:path";
import { readHead } from "../../core/files.ts";
import { OOM_FILE, type ProbeOom, probeOom } from "../recording/probe-record.ts";
import { PROBE_FOLDER } from "../recording/run-info.ts";

/** Maximum number of records of one run. A loop that swallows errors writes more; the first contain the cause. */
const MAX_RECORDS = 64;
/** Maximum number of bytes of one file: a record contains one traceback. */
const MAX_BYTES = 1 << 20;

/** Text of a small regular file; null without. Never follows a link or blocks: the measured program may create it. */
export function smallText(file: string): string | null {
  try {
    return readHead(file, MAX_BYTES, "refuse").toString("utf8");
  } catch {
    return null;
  }
}

/** The out-of-memory records that the probe left, by process and number; empty when there are none. */
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
