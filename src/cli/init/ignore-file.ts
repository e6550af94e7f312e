import { DEFAULTS } from "../../config/run-options.ts";
import { LAB_DIRECTORY, SCALE_DIRECTORY } from "../lab/options.ts";

/** Directories of evidence, which do not belong into a repository. */
const DIRECTORIES = [
  DEFAULTS.bundle,
  DEFAULTS.recording,
  DEFAULTS.merged,
  DEFAULTS.demo,
  DEFAULTS.bisect,
  DEFAULTS.culprit,
  LAB_DIRECTORY,
  SCALE_DIRECTORY,
] as const;

/** Whether a line of `.gitignore` covers a directory wherever it is, in the forms that people write. */
function covers(line: string, directory: string): boolean {
  const pattern = line
    .trim()
    .replace(/^(\*\*\/|\/)/, "")
    .replace(/\/(\*\*?)?$/, "");
  return pattern === directory || pattern === "stormlog-*";
}

/** What is to be appended to a `.gitignore` (null = none yet), in its line ending; empty when it has all of it. */
export function ignoredDirectories(present: string | null): string {
  const lines = (present ?? "").split(/\r?\n/);
  const missing = DIRECTORIES.filter((directory) => !lines.some((line) => covers(line, directory)));
  if (missing.length === 0) return "";
  const end = present?.includes("\r\n") ? "\r\n" : "\n";
  const gap = present === null || present === "" ? "" : /\n$/.test(present) ? end : end + end;
  return [`${gap}# Evidence of Stormlog Gate`, ...missing.map((directory) => `${directory}/`), ""].join(end);
}
