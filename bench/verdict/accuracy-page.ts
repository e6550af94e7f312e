import { withSection } from "../shared/section.ts";
import type { Table } from "./parts/part.ts";
import { markdown } from "./report.ts";

type Results = Readonly<Record<string, readonly Table[]>>;

export interface BenchRun {
  readonly seed: number;
  readonly command: string;
}

/** Number of tables that a part publishes, where that is not its first alone. */
const PUBLISHED: Readonly<Record<string, number>> = { shapes: 4, "trade-offs": 2, growth: 2, reruns: 3 };
/** Parts of which the page shows one table, and the rules that it shows there. */
const SUMMARISED = ["healthy", "injected"];
const RULES = /^(?:Stormlog Gate|Stormlog R²|TraceML bands \(any\)|CPython|OLS)/;
const BEGIN = "<!-- verdicts: begin, written by npm run bench:verdict -->";
const END = "<!-- verdicts: end -->";

/** Every published table: the annex of the evidence page. */
export function accuracyTables(results: Results, run: BenchRun): string {
  const tables = Object.entries(results).flatMap(([name, all]) => all.slice(0, PUBLISHED[name] ?? 1));
  return `# Accuracy of the verdicts: all tables

Written from seed ${run.seed} by

\`\`\`sh
${run.command}
\`\`\`

[Evidence](../evidence.md#accuracy-of-the-verdicts) explains the data and the limits.

${markdown(tables)}`;
}

/** The evidence page with its section of the most important tables replaced. */
export function withAccuracy(page: string, results: Results, run: BenchRun): string {
  const tables = SUMMARISED.flatMap((name) => (results[name] ?? []).slice(0, 1)).map((table) => ({
    ...table,
    rows: table.rows.filter(([rule = ""], row) => row === 0 || RULES.test(rule)),
  }));
  const section = `From seed ${run.seed}, by \`${run.command}\`:\n\n${markdown(tables, 3)}`;
  return withSection(page, BEGIN, END, section.trimEnd());
}
