import { invalidInput } from "../../../core/errors.ts";
import type { CsvRow } from "./scan.ts";

const ZERO = 0x30;
const NINE = 0x39;
/** Number of digits that a double always represents exactly. */
const EXACT_DIGITS = 15;
const MISSING_WORDS: ReadonlySet<string> = new Set(["", "n/a", "na", "nan", "-nan", "null", "none", "-"]);

/** True for a missing value: empty, N/A, NaN, infinite, or any word in square brackets. */
export function isMissing(text: string): boolean {
  return (
    MISSING_WORDS.has(text.toLowerCase()) ||
    /^[+-]?(?:inf|infinity)$/i.test(text) ||
    (text.startsWith("[") && text.endsWith("]"))
  );
}

/** @throws GateError CSV_NOT_A_NUMBER naming line and column. A missing cell is NaN. */
export function numberIn(row: CsvRow, cell: number, column: string, name: string): number {
  const value = digitsIn(row, cell);
  return value >= 0 ? value : parseNumber(row.text(cell), row.line, column, name);
}

/** The whole number in a cell of 1 to 15 digits, parsed from its bytes; -1 for any other cell. */
export function digitsIn(row: CsvRow, cell: number): number {
  const { bytes } = row;
  const start = row.starts[cell]!;
  const end = row.ends[cell]!;
  if (end <= start || end - start > EXACT_DIGITS) return -1;
  let value = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte < ZERO || byte > NINE) return -1;
    value = value * 10 + (byte - ZERO);
  }
  return value;
}

/** The number in a cell, NaN for a missing one; null for any other text. */
export function numberOrNull(text: string): number | null {
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) {
    const value = Number(text);
    return Number.isFinite(value) ? value : Number.NaN;
  }
  return isMissing(text) ? Number.NaN : null;
}

/** As {@link numberIn} for a string; `line` is named in the error. */
export function parseNumber(text: string, line: number, column: string, name: string): number {
  const value = numberOrNull(text);
  if (value !== null) return value;
  throw invalidInput(
    "CSV_NOT_A_NUMBER",
    `line ${line}, column "${column}": ${JSON.stringify(text.slice(0, 60))} is not a number`,
    name,
    "Write plain numbers, and leave a cell empty when the value is unknown.",
  );
}

/** @throws GateError NEGATIVE_BYTES, BYTES_TOO_LARGE (above 2^53, inexact in doubles) naming line and column */
export function rejectImpossible(value: number, line: number, column: string, name: string): void {
  if (value > Number.MAX_SAFE_INTEGER) {
    throw invalidInput(
      "BYTES_TOO_LARGE",
      `line ${line}, column "${column}": ${value} bytes are more than any device has`,
      name,
      "Leave the cell empty when the value is unknown (which all bits set often means).",
    );
  }
  if (value < 0) {
    throw invalidInput(
      "NEGATIVE_BYTES",
      `line ${line}, column "${column}": a byte count cannot be negative (${value})`,
      name,
      "Leave the cell empty when the value is unknown.",
    );
  }
}

/** @throws GateError INPUT_TRUNCATED in a truncated last line */
export function checkTruncated(row: CsvRow, expected: number, name: string): void {
  if (row.terminated || row.count >= expected) return;
  throw invalidInput(
    "INPUT_TRUNCATED",
    `the file ends within line ${row.line}: ${row.count} of ${expected} cells`,
    name,
    "Remove the last line to read the rest.",
  );
}

/** @throws GateError for another number of cells: INPUT_TRUNCATED in a truncated last line, else CSV_ROW_LENGTH */
export function checkRowLength(row: CsvRow, expected: number, name: string): void {
  if (row.count === expected) return;
  checkTruncated(row, expected, name);
  throw invalidInput(
    "CSV_ROW_LENGTH",
    `line ${row.line} has ${row.count} cells, the header has ${expected}`,
    name,
    "Check the separator and the quoting.",
  );
}
