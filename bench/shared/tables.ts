import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { escapeMarkdown } from "../../src/core/escape.ts";
import { isFigure, isMissed, type Result, shownFigure } from "./figures.ts";
import type { BenchDocument, BenchRun } from "./publish.ts";
import { withSection } from "./section.ts";

const BEGIN = "<!-- costs: begin, written by the benches with --publish -->";
const END = "<!-- costs: end -->";

function row(result: Result): string {
  if (!isFigure(result)) return `| ${result.name} | skipped: ${escapeMarkdown(result.skipped)} | |`;
  const unit = result.unit === "" ? "" : ` ${result.unit}`;
  const limit = result.limit === null ? "" : `${result.limit}${unit}${isMissed(result) ? ", missed" : ""}`;
  const note = result.note === undefined ? "" : `; ${escapeMarkdown(result.note)}`;
  return `| ${result.name} | ${shownFigure(result)}${note} | ${limit} |`;
}

function runTable({ title, processor, node, load, command, results }: BenchRun): string {
  return [
    `### ${title}`,
    `By \`${command}\` on ${processor} with Node ${node.replace(/^v/, "")}, at a load of ${load}.`,
    ["| what | figure | limit |", "|---|---:|---:|", ...results.map(row)].join("\n"),
  ].join("\n\n");
}

/** The evidence page with its tables of costs made from the documents of a directory. */
export function withCosts(page: string, directory: string): string {
  const tables = readdirSync(directory)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .flatMap((name) => (JSON.parse(readFileSync(path.join(directory, name), "utf8")) as BenchDocument).runs)
    .map(runTable);
  return withSection(page, BEGIN, END, tables.join("\n\n"));
}
