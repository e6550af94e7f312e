import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { isMissed, type Result, shownLine } from "./figures.ts";
import { withCosts } from "./tables.ts";

/** What one bench measured on one machine. */
export interface BenchRun {
  readonly title: string;
  /** The processor's name: a run replaces that of the same one. */
  readonly processor: string;
  readonly node: string;
  /** Processes that wanted to run, averaged over five minutes, at the end. */
  readonly load: number;
  readonly command: string;
  readonly results: readonly Result[];
}

export interface BenchDocument {
  readonly schema: "stormlog.bench-costs/1";
  readonly bench: string;
  /** One for each kind of processor. */
  readonly runs: readonly BenchRun[];
}

export interface Publication {
  readonly bench: string;
  readonly title: string;
  readonly results: readonly Result[];
  /** Version of the Node that was measured; of this process when absent. */
  readonly node?: string;
}

/** Options of every bench. */
export const PUBLISH_OPTIONS = {
  json: { type: "boolean", default: false },
  publish: { type: "boolean", default: false },
} as const;

const root = fileURLToPath(new URL("../..", import.meta.url));
const COSTS_DIRECTORY = path.join(root, "docs/evidence/costs");
const PAGE = path.join(root, "docs/evidence.md");

function keep(bench: string, run: BenchRun): void {
  const file = path.join(COSTS_DIRECTORY, `${bench}.json`);
  const before: BenchDocument | null = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : null;
  const others = (before?.runs ?? []).filter(({ processor }) => processor !== run.processor);
  const document: BenchDocument = { schema: "stormlog.bench-costs/1", bench, runs: [...others, run] };
  mkdirSync(COSTS_DIRECTORY, { recursive: true });
  writeFileSync(file, `${JSON.stringify(document, null, 1)}\n`);
  writeTables();
}

/** Write the tables of the evidence page from the documents of all benches. */
export function writeTables(): void {
  writeFileSync(PAGE, withCosts(readFileSync(PAGE, "utf8"), COSTS_DIRECTORY));
}

/**
 * Print the results of a bench, as JSON when asked, and keep them for the evidence page when asked.
 * @returns the exit status: 1 when a limit is missed
 */
export function conclude(
  { bench, title, results, node = process.version }: Publication,
  options: { readonly json: boolean; readonly publish: boolean },
): number {
  const missed = results.filter(isMissed);
  const run: BenchRun = {
    title,
    processor: cpus()[0]?.model ?? process.arch,
    node,
    load: Number(loadavg()[1]!.toFixed(1)),
    command: [`npm run bench:${bench}`, ...(process.argv.length > 2 ? ["--"] : []), ...process.argv.slice(2)]
      .filter((argument) => argument !== "--publish")
      .join(" "),
    results,
  };
  if (options.json) console.log(JSON.stringify({ ...run, missed: missed.map(({ name }) => name) }, null, 2));
  else {
    console.log(`${title} (${run.processor}, Node ${node.replace(/^v/, "")}, load ${run.load})`);
    for (const result of results) console.log(`  ${shownLine(result)}`);
    if (missed.length > 0) console.log(`${missed.length} of ${results.length} limits missed`);
  }
  if (options.publish) keep(bench, run);
  return missed.length > 0 ? 1 : 0;
}
