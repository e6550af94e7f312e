import { escapeTerminal } from "../core/escape.ts";
import { comparisonTable } from "./lab-columns.ts";
import { dampening } from "./lab-dampening.ts";
import type { LabDocument } from "./lab-document.ts";
import { CATALOGUE_COLUMNS, catalogueRow, roundTitle } from "./lab-table.ts";
import { alignRows, cell, wrapText } from "./terminal-table.ts";

function aligned(
  columns: readonly { readonly name: string; readonly align: "l" | "r" }[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  const cells = [columns.map(({ name }) => name), ...rows].map((row) => row.map((text) => cell(escapeTerminal(text))));
  return alignRows(
    cells,
    columns.map(({ align }) => align === "r"),
  );
}

/** One place: its catalogue. */
function single(document: LabDocument): readonly string[] {
  const columns = CATALOGUE_COLUMNS.map(([name, align]) => ({ name, align }));
  return [escapeTerminal(roundTitle(document)), "", ...aligned(columns, document.patterns.map(catalogueRow))];
}

/**
 * A report for a terminal: of one place its catalogue; of several the table across them, then which dampens, and for each pattern why.
 * Tables are as wide as they need; sentences are broken at `width` columns.
 */
export function labTerminal(places: readonly LabDocument[], width: number): readonly string[] {
  const [only] = places;
  if (only !== undefined && places.length === 1) return single(only);
  const { columns, rows } = comparisonTable(places);
  const sentences = dampening(places).flatMap((text) => wrapText(escapeTerminal(text), width, "  "));
  return [
    ...places.map((document, index) => escapeTerminal(`${index + 1}. ${roundTitle(document)}`)),
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
