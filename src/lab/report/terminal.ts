import { escapeTerminal } from "../../core/escape.ts";
import { alignRows, cell } from "../../report/terminal/terminal-table.ts";
import { comparisonTable } from "./comparison.ts";
import type { LabDocument } from "./document.ts";
import { CATALOGUE_COLUMNS, catalogueRow, roundTitle } from "./table.ts";

/** Outside text on one line of a terminal, because a newline in a name would forge a row. */
export function terminalLine(text: string): string {
  return escapeTerminal(text.replace(/\s+/g, " ").trim());
}

/** Aligned rows of outside text, one per line. `right`: whether each column aligns right. */
export function outsideRows(rows: readonly (readonly string[])[], right: readonly boolean[]): readonly string[] {
  return alignRows(
    rows.map((row) => row.map((text) => cell(terminalLine(text)))),
    right,
  );
}

function aligned(
  columns: readonly (readonly [string, "l" | "r"])[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  return outsideRows(
    [columns.map(([name]) => name), ...rows],
    columns.map(([, align]) => align === "r"),
  );
}

/** The catalogue of one round. */
function single(document: LabDocument): readonly string[] {
  return [terminalLine(roundTitle(document)), "", ...aligned(CATALOGUE_COLUMNS, document.patterns.map(catalogueRow))];
}

/** A report for a terminal. Tables have their natural width. */
export function labTerminal(rounds: readonly LabDocument[]): readonly string[] {
  const [only] = rounds;
  if (only !== undefined && rounds.length === 1) return single(only);
  const { columns, rows } = comparisonTable(rounds);
  return [
    ...rounds.map((document, index) => terminalLine(`${index + 1}. ${roundTitle(document)}`)),
    "",
    ...aligned(columns, rows),
  ];
}
