import { md, table } from "../../report/markdown/markdown-text.ts";
import { comparisonTable } from "./comparison.ts";
import type { LabDocument } from "./document.ts";
import { catalogueMarkdown, roundTitle } from "./table.ts";

/** Alternative text of a report's picture. */
export function pictureAltText(rounds: readonly LabDocument[]): string {
  const names = [...new Set(rounds.flatMap(({ patterns }) => patterns.map(({ name }) => name)))];
  return `Memory of the leaky and the fixed state of ${names.length === 1 ? "one pattern" : `${names.length} patterns`} over their runs, one panel a pattern: ${names.join(", ")}`;
}

/** The section across backends; empty for one round. */
function acrossBackends(rounds: readonly LabDocument[]): readonly string[] {
  if (rounds.length < 2) return [];
  const { columns, rows } = comparisonTable(rounds);
  return [
    "## Across backends",
    rounds.map((document, index) => `${index + 1}. ${md(roundTitle(document))}`).join("\n"),
    table(
      columns.map(([name]) => md(name)),
      columns.map(([, align]) => align),
      rows.map((cells) => cells.map((cell) => md(cell, 120))),
    ),
  ];
}

/** A report of rounds or replays as markdown. @param picture relative path of the small multiples; null = none */
export function labMarkdown(rounds: readonly LabDocument[], picture: string | null = null): string {
  const parts = [
    "# The leak lab",
    ...acrossBackends(rounds),
    ...(picture === null ? [] : [`![${md(pictureAltText(rounds), 600)}](${picture})`]),
    ...rounds.flatMap((document) => [`## ${md(document.backend ?? "Nothing measured")}`, catalogueMarkdown(document)]),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}
