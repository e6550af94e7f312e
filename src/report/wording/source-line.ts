import type { Finding } from "../../analysis/series/document.ts";
import { escapeTerminal } from "../../core/escape.ts";

/** Classification of a finding that names the source line that holds growing memory. */
export const LEAK_LINE = "leak_line";
/** The same for a line that explains only a small share of the growth; for the details. */
export const CONTRIBUTING_LINE = "contributing_line";
/** Classification of a finding that names the line of one jump, still held at the end. */
export const ONE_TIME_LINE = "one_time_line";
/** Classification of a finding that names a line which holds more at the peak than on the base. */
export const PEAK_LINE = "peak_line";
/** The same without a base to compare with: a line that holds much at the peak; for the details. */
export const HELD_AT_PEAK = "held_at_peak";
/** Classification of the share of a growth that no line holds. */
export const UNATTRIBUTED_GROWTH = "unattributed_growth";

/** A line of the repository that a finding points at. */
export interface SourceLocation {
  /** Relative to the repository, with "/" between directories. */
  readonly file: string;
  /** 1-based. */
  readonly line: number;
}

/** The line a finding points at (evidence `line`, "train.py:48"); null if none is inside the repository. */
export function sourceLocationOf(finding: Finding): SourceLocation | null {
  const line = finding.evidence.line ?? finding.evidence.source_line;
  const match = typeof line === "string" ? /^([^\0]+):(\d{1,9})$/.exec(line) : null;
  const file = match?.[1];
  if (file === undefined || /^[\\/]|^[A-Za-z][A-Za-z0-9+.-]*:/.test(file)) return null;
  // A name with hidden characters may look like another file's.
  if (escapeTerminal(file) !== file || file.includes("\n")) return null;
  if (file.split(/[\\/]/).includes("..")) return null;
  return { file, line: Math.max(1, Number(match?.[2])) };
}

/** A key of a finding's line that survives edits above it, by which code scanning matches old and new results. */
export function locationKey(finding: Finding): string {
  const location = sourceLocationOf(finding);
  if (location === null) return "";
  const { function: name, code } = finding.evidence;
  const text = typeof code === "string" ? code.replace(/\s+/g, " ").trim() : "";
  // Without the line's text, only the number distinguishes two lines of one function.
  const position = text === "" ? String(location.line) : text;
  return [location.file, typeof name === "string" ? name : "", position].join("|");
}
