import { md, table } from "../../report/markdown/markdown-text.ts";
import { comparisonTable } from "./comparison.ts";
import type { LabDocument } from "./document.ts";
import { catalogueMarkdown, roundTitle } from "./table.ts";

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

/** A report of rounds as markdown. */
export function labMarkdown(rounds: readonly LabDocument[]): string {
  const parts = [
    "# The leak lab",
    ...acrossBackends(rounds),
    ...rounds.flatMap((document) => [`## ${md(document.backend ?? "Nothing measured")}`, catalogueMarkdown(document)]),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}
