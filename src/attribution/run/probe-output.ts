import { lstatSync, readdirSync, renameSync } from "node:fs";
import path from "node:path";
import { GateError } from "../../core/errors.ts";
import { makeDirectories } from "../../core/files.ts";
import { PROBE_FOLDER } from "../../telemetry/recording/run-files.ts";

/**
 * The regular files of the probe's directory that have such a name, moved to the run's `snapshots/`; their absolute
 * paths in numerical order.
 * @param directory absolute run directory  @throws Error when they cannot be moved (no space, no permission)
 */
export function keepProbeFiles(directory: string, wanted: RegExp): readonly string[] {
  const from = path.join(directory, PROBE_FOLDER);
  const to = path.join(directory, "snapshots");
  let names: string[];
  try {
    names = readdirSync(from).filter((name) => wanted.test(name));
  } catch {
    return [];
  }
  // The measured program could have made a symbolic link.
  const regular = names.filter((name) => lstatSync(path.join(from, name), { throwIfNoEntry: false })?.isFile());
  if (regular.length > 0) makeDirectories(to);
  for (const name of regular) renameSync(path.join(from, name), path.join(to, name));
  return regular.sort((a, b) => a.localeCompare(b, "en", { numeric: true })).map((name) => path.join(to, name));
}

/** What `read` makes of each file of the probe; a file that it refuses is a note. */
export function readKept<T>(files: readonly string[], read: (file: string) => T, note: (text: string) => void): T[] {
  return files.flatMap((file) => {
    try {
      return [read(file)];
    } catch (error) {
      if (!(error instanceof GateError)) throw error;
      note(`${path.basename(file)}: ${error.message}`);
      return [];
    }
  });
}

/** "<pid>.<n>", the process image that wrote a file of the probe. */
export function processOf(file: string): string {
  return path.basename(file).split(".").slice(0, 2).join(".");
}
