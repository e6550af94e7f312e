import { withSection } from "../shared/section.ts";
import type { Judged, Outcome, Tool } from "./outcome.ts";
import { PAIRS, type Pair, type Size } from "./pairs.ts";

export const BEGIN = "<!-- leaks: begin, written by npm run bench:leaks -->";
export const END = "<!-- leaks: end -->";

/** Outcomes of the published runs, and where they were made. */
export interface LeakResults {
  readonly schema: "stormlog.bench-leaks/1";
  readonly machine: string;
  readonly outcomes: readonly Outcome[];
}

type JudgedOutcome = Outcome & { readonly result: Judged };

const NAMES: Readonly<Record<Tool, string>> = {
  gate: "Stormlog Gate",
  "gate-baseline": "Stormlog Gate, baseline of the fixed release",
  "pytest-memray": 'pytest-memray, `limit_leaks("1 MB")`',
  memray: "memray, 1 MiB kept at one line",
  tracemalloc: "tracemalloc, difference above 1 MiB",
  rss: "resident memory +10 %",
};

const judged = (outcomes: readonly Outcome[]): readonly JudgedOutcome[] =>
  outcomes.filter((outcome): outcome is JudgedOutcome => outcome.result.kind === "judged");

const count = (hits: number, of: number): string => (of === 0 ? "–" : `${hits} of ${of}`);

/** Without a baseline, memory that rests at a level is not a leak, so a pair of that kind counts for neither. */
function counts({ bytesPerCall }: Pair, tool: Tool): boolean {
  return bytesPerCall !== null || tool === "gate-baseline";
}

/** One row: recall, false alarms, lines, package and minutes of a tool over the pairs of a runtime. */
function toolRow(outcomes: readonly JudgedOutcome[], tool: Tool, runtime: Pair["runtime"]): readonly string[] | null {
  const names = PAIRS.filter((pair) => pair.runtime === runtime && counts(pair, tool)).map(({ name }) => name);
  const own = outcomes.filter((outcome) => outcome.tool === tool && names.includes(outcome.pair));
  if (own.length === 0) return null;
  const leaky = own.filter(({ state }) => state === "leaky");
  const clean = own.filter(({ state }) => state === "fixed");
  const is = (...matches: readonly Judged["match"][]): number =>
    leaky.filter(({ result }) => matches.includes(result.match)).length;
  const named = clean.filter(({ result }) => result.line !== null).length;
  const lines =
    tool === "rss" ? ["–", "–"] : [count(is("exact", "function", "package"), leaky.length), `${is("wrong") + named}`];
  const minutes = own.reduce((sum, { result }) => sum + result.minutes, 0) / own.length;
  return [
    NAMES[tool],
    runtime === "python" ? "Python" : "Node",
    count(leaky.filter(({ result }) => result.red).length, leaky.length),
    count(clean.filter(({ result }) => result.red).length, clean.length),
    ...lines,
    tool === "rss" ? "–" : count(leaky.filter(({ result }) => result.package_named).length, leaky.length),
    minutes.toFixed(2),
  ];
}

/** Growth that was reported as a share of what leaked, lowest to highest of the tries. */
function growthOf(outcomes: readonly JudgedOutcome[]): string {
  const shares = outcomes.flatMap(({ expected_bytes, result: { growth_bytes } }) =>
    expected_bytes === null || growth_bytes === null ? [] : [Math.round((100 * growth_bytes) / expected_bytes)],
  );
  if (shares.length === 0) return "–";
  const [low, high] = [Math.min(...shares), Math.max(...shares)];
  return low === high ? `${low} %` : `${low} to ${high} %`;
}

const LINE_WORDS: Readonly<Record<Judged["match"], string>> = {
  exact: "exact",
  function: "its function",
  package: "in the package",
  wrong: "wrong",
  none: "none",
};

/** One row: what the gate reports of a pair without a baseline. */
function pairRow(outcomes: readonly Outcome[], pair: Pair): readonly string[] | null {
  const all = outcomes.filter(({ pair: name, tool }) => name === pair.name && tool === "gate");
  if (all.length === 0) return null;
  const of = (state: string): readonly JudgedOutcome[] => judged(all).filter((outcome) => outcome.state === state);
  const red = (tries: readonly JudgedOutcome[]): string =>
    tries.length === 0 ? "skipped" : count(tries.filter(({ result }) => result.red).length, tries.length);
  const lines = of("leaky").map(({ result }) => LINE_WORDS[result.match]);
  const title = `${pair.package} ${pair.leaky} / ${pair.fixed}${pair.bytesPerCall === null ? " (retention)" : ""}`;
  return [
    title,
    pair.thread,
    red(of("leaky")),
    red(of("fixed")),
    growthOf(of("leaky")),
    [...new Set(lines)].join(", ") || "–",
  ];
}

function table(rows: readonly (readonly string[])[]): string {
  const [head = [], ...body] = rows;
  const line = (row: readonly string[]): string => `| ${row.join(" | ")} |`;
  return [line(head), line(head.map((_, column) => (column === 0 ? "---" : "---:"))), ...body.map(line)].join("\n");
}

const present = <T>(rows: readonly (T | null)[]): readonly T[] => rows.filter((row): row is T & {} => row !== null);

/** Both tables of one size, or nothing where no run of it was made. */
function sizeTables(all: readonly Outcome[], size: Size): string | null {
  const outcomes = all.filter((outcome) => outcome.size === size);
  if (outcomes.length === 0) return null;
  const tools = Object.keys(NAMES) as Tool[];
  const compared = present(
    tools.flatMap((tool) => (["python", "node"] as const).map((runtime) => toolRow(judged(outcomes), tool, runtime))),
  );
  const pairs = present(PAIRS.map((pair) => pairRow(outcomes, pair)));
  const skipped = [
    ...new Set(outcomes.flatMap(({ pair, result }) => (result.kind === "skipped" ? [`${pair}: ${result.why}`] : []))),
  ];
  return [
    `### ${size === "big" ? "Growth of about 32 MiB" : "Growth of about 4 MiB"}`,
    table([
      [
        "tool",
        "pairs",
        "leaky found",
        "fixed red",
        "right line",
        "wrong line",
        "package and version",
        "minutes a case",
      ],
      ...compared,
    ]),
    "What the gate reports without a baseline:",
    table([["leaky / fixed", "thread", "leaky red", "fixed red", "growth / leaked", "first line"], ...pairs]),
    ...(skipped.length === 0 ? [] : [`Skipped: ${skipped.join("; ")}.`]),
  ].join("\n\n");
}

/** Markdown of all results. */
export function leakTables({ outcomes, machine }: LeakResults): string {
  const tables = present([sizeTables(outcomes, "big"), sizeTables(outcomes, "small")]);
  return tables.length === 0 ? "No results yet." : [`Made with ${machine}.`, ...tables].join("\n\n");
}

/** The page with its section of this bench replaced. */
export function withLeaks(page: string, results: LeakResults): string {
  return withSection(page, BEGIN, END, leakTables(results));
}

/** The results with newer outcomes in the place of those of the same cases. */
export function withOutcomes(results: LeakResults, newer: readonly Outcome[]): LeakResults {
  const key = ({ pair, state, size, tool, try: number }: Outcome): string =>
    [pair, state, size, tool, number].join(" ");
  const replaced = new Set(newer.map(key));
  return { ...results, outcomes: [...results.outcomes.filter((outcome) => !replaced.has(key(outcome))), ...newer] };
}

/** The document of the results, one outcome a line. */
export function resultsDocument({ outcomes, ...rest }: LeakResults): string {
  const head = JSON.stringify(rest).slice(0, -1);
  return `${head},"outcomes":[\n${outcomes.map((outcome) => JSON.stringify(outcome)).join(",\n")}\n]}\n`;
}
