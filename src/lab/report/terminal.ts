import { escapeTerminal } from "../../core/escape.ts";
import { alignRows, cell, wrapText } from "../../report/terminal/terminal-table.ts";
import { comparisonTable } from "./columns.ts";
import { dampening } from "./dampening.ts";
import type { LabDocument } from "./document.ts";
import { CATALOGUE_COLUMNS, catalogueRow, roundTitle } from "./table.ts";

/** Outside text on one line of a terminal: a newline in a name would forge a row. */
export function terminalLine(text: string): string {
  return escapeTerminal(text.replace(/\s+/g, " ").trim());
}

/** Rows of outside text, aligned, each on a line of its own. `right` names the columns that align right. */
export function outsideRows(rows: readonly (readonly string[])[], right: readonly boolean[]): readonly string[] {
  return alignRows(
    rows.map((row) => row.map((text) => cell(terminalLine(text)))),
    right,
  );
}

function aligned(
  columns: readonly { readonly name: string; readonly align: "l" | "r" }[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  return outsideRows(
    [columns.map(({ name }) => name), ...rows],
    columns.map(({ align }) => align === "r"),
  );
}

/** One place: its catalogue. */
function single(document: LabDocument): readonly string[] {
  const columns = CATALOGUE_COLUMNS.map(([name, align]) => ({ name, align }));
  return [terminalLine(roundTitle(document)), "", ...aligned(columns, document.patterns.map(catalogueRow))];
}

/**
 * A report for a terminal: of one place its catalogue; of several the table across them, then which dampens, and for
 * each pattern why. Tables are as wide as they need; sentences are broken at `width` columns.
 */
export function labTerminal(places: readonly LabDocument[], width: number): readonly string[] {
  const [only] = places;
  if (only !== undefined && places.length === 1) return single(only);
  const { columns, rows } = comparisonTable(places);
  const sentences = dampening(places).flatMap((text) => wrapText(escapeTerminal(text), width, "  "));
  return [
    ...places.map((document, index) => terminalLine(`${index + 1}. ${roundTitle(document)}`)),
    "",
    ...aligned(
      columns,
      rows.map(({ cells }) => cells),
    ),
    "",
    ...sentences,
    ...(sentences.length === 0 ? [] : [""]),
    ...rows.flatMap(({ name, sentence }) => wrapText(escapeTerminal(`${name}: ${sentence}`), width, "  ")),
  ];
}
