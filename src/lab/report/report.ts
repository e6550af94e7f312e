import { md, table } from "../../report/markdown/markdown-text.ts";
import { comparisonTable } from "./columns.ts";
import { dampening } from "./dampening.ts";
import type { LabDocument } from "./document.ts";
import { catalogueMarkdown, roundTitle } from "./table.ts";

/** What the picture of a report shows, for those who cannot see it. */
export function pictureWords(places: readonly LabDocument[]): string {
  const names = [...new Set(places.flatMap(({ patterns }) => patterns.map(({ name }) => name)))];
  return `Memory of the leaky and the fixed state of ${names.length === 1 ? "one pattern" : `${names.length} patterns`} over their runs, one panel a pattern: ${names.join(", ")}`;
}

/** The part across backends; empty for one place. */
function acrossBackends(places: readonly LabDocument[]): readonly string[] {
  if (places.length < 2) return [];
  const { columns, rows } = comparisonTable(places);
  return [
    "## Across backends",
    places.map((document, index) => `${index + 1}. ${md(roundTitle(document))}`).join("\n"),
    table(
      [...columns.map(({ name }) => md(name)), "what dampens what"],
      [...columns.map(({ align }) => align), "l"],
      rows.map(({ cells, sentence }) => [...cells.map((cell) => md(cell, 120)), md(sentence, 600)]),
    ),
    dampening(places)
      .map((sentence) => md(sentence, 600))
      .join("\n\n"),
  ];
}

/**
 * A report of one or more places (rounds of the lab, replays of recordings) as markdown: across backends first, then
 * each catalogue.
 * @param picture relative path of the small multiples; null = there is none
 */
export function labMarkdown(places: readonly LabDocument[], picture: string | null = null): string {
  const parts = [
    "# The leak lab",
    ...acrossBackends(places),
    ...(picture === null ? [] : [`![${md(pictureWords(places), 600)}](${picture})`]),
    ...places.flatMap((document) => [`## ${md(document.backend ?? "Nothing measured")}`, catalogueMarkdown(document)]),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}
