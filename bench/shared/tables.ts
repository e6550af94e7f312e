import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { md } from "../../src/report/markdown/markdown-text.ts";
import { isFigure, isMissed, type Result, shownFigure } from "./figures.ts";
import type { BenchDocument, BenchRun } from "./publish.ts";
import { withSection } from "./section.ts";

const BEGIN = "<!-- costs: begin, written by the benches with --publish -->";
const END = "<!-- costs: end -->";

function row(result: Result, columns: readonly string[], limits: boolean): string {
  const empty = (count: number): string[] => Array.from({ length: count }, () => "");
  if (!isFigure(result)) {
    const cells = [result.name, `skipped: ${md(result.skipped)}`, ...empty(columns.length + Number(limits))];
    return `| ${cells.join(" | ")} |`;
  }
  const unit = result.unit === "" ? "" : ` ${result.unit}`;
  const limit = result.limit === null ? "" : `${result.limit}${unit}${isMissed(result) ? ", missed" : ""}`;
  const note = result.note === undefined ? "" : `; ${md(result.note)}`;
  const more = columns.map((name) => result.more?.[name] ?? "");
  return `| ${[result.name, `${shownFigure(result)}${note}`, ...more, ...(limits ? [limit] : [])].join(" | ")} |`;
}

function runTable({ title, processor, node, load, command, results }: BenchRun): string {
  const figures = results.filter(isFigure);
  const columns = [...new Set(figures.flatMap(({ more }) => Object.keys(more ?? {})))];
  const limits = figures.some(({ limit }) => limit !== null);
  const heads = ["what", "figure", ...columns, ...(limits ? ["limit"] : [])];
  return [
    `### ${title}`,
    `By \`${command}\` on ${processor} with Node ${node.replace(/^v/, "")}, at a load of ${load}.`,
    [
      `| ${heads.join(" | ")} |`,
      `|---${"|---:".repeat(heads.length - 1)}|`,
      ...results.map((result) => row(result, columns, limits)),
    ].join("\n"),
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
