// Writes the tables of rounds of the leak lab into docs/evidence/leak-lab.md, between their marks.
//
//   npx tsx scripts/leak-lab-table.ts DIRECTORY…                  one table
//   npx tsx scripts/leak-lab-table.ts --environments DIRECTORY…   one for each environment
//   npx tsx scripts/leak-lab-table.ts --heap FILE…                the lines that `scripts/leak-lab-heap.py` printed
//
// A DIRECTORY is one that `stormlog-gate lab run` left.
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { packageRoot } from "../src/core/package-root.ts";
import { formatBytes } from "../src/core/units.ts";
import { CATALOGUE } from "../src/lab/catalogue.ts";
import { type LabRound, readRounds } from "../src/lab/files.ts";
import type { LabPattern } from "../src/lab/report/document.ts";
import { catalogueMarkdown, roundTitle } from "../src/lab/report/table.ts";
import { md, table } from "../src/report/markdown/markdown-text.ts";

/** Put the text between the marks of this name. */
function intoPage(page: string, name: string, text: string): void {
  const marks = [`<!-- ${name} begins -->`, `<!-- ${name} ends -->`] as const;
  const file = path.join(packageRoot(), "docs", page);
  const content = readFileSync(file, "utf8");
  const [begin, end] = marks.map((mark) => content.indexOf(mark));
  if (begin === undefined || end === undefined || begin < 0 || end < begin) throw new Error(`${file} has no marks`);
  writeFileSync(file, `${content.slice(0, begin + marks[0].length)}\n${text}\n${content.slice(end)}`);
}

/** What these rounds measured, each pattern once, in the catalogue's order. */
function measured(rounds: readonly LabRound[]): LabPattern[] {
  return CATALOGUE.flatMap(({ name }) => {
    const found = rounds.flatMap(({ document }) => document.patterns.filter((one) => one.name === name));
    return found.filter(({ outcome }) => outcome !== "skipped").slice(0, 1);
  });
}

function groupBy<T>(items: readonly T[], key: (item: T) => string): readonly (readonly [T, ...T[]])[] {
  const groups = new Map<string, [T, ...T[]]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group === undefined) groups.set(key(item), [item]);
    else group.push(item);
  }
  return [...groups.values()];
}

function writeOne(rounds: readonly LabRound[]): void {
  const [first] = rounds;
  if (first === undefined) throw new Error("name the directory of at least one round");
  // Rounds of one machine that took the frameworks from several Pythons are one table.
  const place = ({ document }: LabRound): string => `${document.backend} ${document.scale}`;
  const others = rounds.filter((round) => place(round) !== place(first)).map(({ document }) => roundTitle(document));
  if (others.length > 0) throw new Error(`not of one backend and scale: ${others.join("; ")}`);
  const patterns = measured(rounds);
  intoPage("evidence/leak-lab.md", "table", catalogueMarkdown({ ...first.document, patterns }));
  console.log(`${patterns.length} patterns of ${CATALOGUE.length} in docs/evidence/leak-lab.md`);
}

function writeEnvironments(rounds: readonly LabRound[]): void {
  const environments = groupBy(rounds, ({ document }) => roundTitle(document));
  if (environments.length === 0) throw new Error("name the directory of at least one round");
  const tables = environments.map((group) => catalogueMarkdown({ ...group[0].document, patterns: measured(group) }));
  intoPage("evidence/leak-lab.md", "rounds", `${tables.join("\n\n")}`);
  console.log(`${environments.length} environments in docs/evidence/leak-lab.md`);
}

/** A line that `scripts/leak-lab-heap.py` printed. */
interface HeapLine {
  readonly pattern: string;
  readonly state: string;
  readonly framework: string;
  readonly leak_bytes_per_step: number;
  readonly heap_bytes_per_step: number;
}

/** With its sign: freed memory is negative. */
function growth(bytes: number | undefined): string {
  if (bytes === undefined) return "–";
  return bytes < 0 ? `−${formatBytes(-bytes)}` : formatBytes(bytes);
}

function writeHeap(files: readonly string[]): void {
  const lines = files.flatMap((file) => readFileSync(file, "utf8").split("\n").filter(Boolean));
  const read = lines.map((line) => JSON.parse(line) as HeapLine);
  const order = (name: string): number => CATALOGUE.findIndex((entry) => entry.name === name);
  const groups = groupBy(read, ({ pattern, framework }) => `${pattern} ${framework}`);
  const rows = [...groups]
    .sort(([a], [b]) => order(a.pattern) - order(b.pattern) || a.framework.localeCompare(b.framework))
    .map((group) => {
      const of = (state: string) => group.find((line) => line.state === state)?.heap_bytes_per_step;
      const [{ pattern, framework, leak_bytes_per_step: kept }] = group;
      return [pattern, framework, formatBytes(kept), growth(of("leaky")), growth(of("fixed"))].map((text) =>
        md(text, 160),
      );
    });
  const columns = ["pattern", "with", "kept a step", "heap, leaky", "heap, fixed"];
  intoPage("evidence/leak-lab.md", "heap", table(columns, ["l", "l", "r", "r", "r"], rows));
  console.log(`${rows.length} rows in docs/evidence/leak-lab.md`);
}

const [option, ...rest] = process.argv.slice(2);
const places = (names: readonly string[]) => names.map((name) => path.resolve(name));
if (option === "--environments") writeEnvironments(await readRounds(places(rest)));
else if (option === "--heap") writeHeap(rest);
else writeOne(await readRounds(places(process.argv.slice(2))));
