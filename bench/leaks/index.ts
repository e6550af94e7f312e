import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { arch, cpus } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { packageRoot } from "../../src/core/package-root.ts";
import { installTools, prepare, pythonMinor } from "./environments.ts";
import { judge, makeBaseline } from "./gate.ts";
import { type Outcome, type Result, TOOLS, type Tool } from "./outcome.ts";
import { callsOf, PAIRS, type Pair, SIZES, type Size, type State } from "./pairs.ts";
import { judgeByPeer, judges } from "./peers.ts";
import { type LeakResults, leakTables, resultsDocument, withLeaks, withOutcomes } from "./table.ts";

/**
 * Releases that leaked and the first that do not, judged by the gate and by other tools: `npm run bench:leaks --
 * [--only NAME,…] [--tools TOOL,…] [--states STATE,…] [--tries N] [--size big|small] [--seconds S] [--always]
 * [--python FILE] [--cli FILE] [--page FILE] [--check]`. Packages are installed from their registries into build/leaks,
 * where the results are kept; what cannot be installed is skipped with the reason. With `--always` the gate looks for
 * lines after every verdict. `--page` is docs/evidence.md: its section is replaced, and the results are merged into
 * evidence/leaks.json beside it. `--check` exits 1 where the gate found no leak in a leaky release, was red on another
 * or named a line in it, or judged nothing.
 */
const STATES: readonly State[] = ["leaky", "fixed", "newest"];
const CACHE = path.join(packageRoot(), "build", "leaks");

const { values } = parseArgs({
  options: {
    only: { type: "string", default: PAIRS.map(({ name }) => name).join(",") },
    tools: { type: "string", default: TOOLS.filter((tool) => tool !== "gate-baseline").join(",") },
    states: { type: "string", default: "leaky,fixed" },
    tries: { type: "string", default: "1" },
    size: { type: "string", default: "big" },
    seconds: { type: "string" },
    always: { type: "boolean", default: false },
    python: { type: "string", default: "python3" },
    cli: { type: "string", default: path.join(packageRoot(), "dist", "cli.js") },
    page: { type: "string" },
    check: { type: "boolean", default: false },
  },
});

/** The names of a list that are known, or the end of the program. */
function chosen<T extends string>(option: string, list: string, known: readonly T[]): readonly T[] {
  const names = list.split(",");
  const unknown = names.filter((name) => !known.some((one) => one === name));
  if (unknown.length > 0) {
    console.error(`--${option}: ${unknown.join(", ")} is not one of ${known.join(", ")}`);
    process.exit(2);
  }
  return known.filter((one) => names.includes(one));
}

const [size = "big"] = chosen("size", values.size, Object.keys(SIZES) as Size[]);
const seconds = Number(values.seconds ?? SIZES[size].seconds);
const tries = Number(values.tries);
if (!(seconds > 0) || !Number.isSafeInteger(tries) || tries < 1) {
  console.error("--seconds is a positive number and --tries a positive whole number");
  process.exit(2);
}
const names = chosen(
  "only",
  values.only,
  PAIRS.map(({ name }) => name),
);
const tools = chosen("tools", values.tools, TOOLS);
const states = chosen("states", values.states, STATES);
const cli = path.resolve(values.cli);
const settings = { cli, size, seconds, attribute: values.always ? "always" : "auto" } as const;

/** One judgement of one state by one tool; everything that it needs is installed first. */
async function judgeOne(pair: Pair, state: State, tool: Tool): Promise<Result> {
  const skip = (why: string): Result => ({ kind: "skipped", why });
  const project = prepare(pair, state, values.python, CACHE);
  if ("skipped" in project) return skip(project.skipped);
  switch (tool) {
    case "gate":
      return judge(pair, project, { ...settings, baseline: "none" });
    case "gate-baseline": {
      const baseline = await baselineOf(pair);
      return typeof baseline === "string" ? judge(pair, project, { ...settings, baseline }) : skip(baseline.skipped);
    }
    case "pytest-memray":
    case "memray":
    case "tracemalloc":
    case "rss": {
      const other = pair.runtime === "python" ? installTools(values.python, CACHE) : { directory: "" };
      return "skipped" in other ? skip(other.skipped) : judgeByPeer(pair, project, tool, size, other.directory);
    }
  }
}

const baselines = new Map<string, string | { readonly skipped: string }>();
/** The baseline of the fixed release, measured once a bench. */
async function baselineOf(pair: Pair): Promise<string | { readonly skipped: string }> {
  const known = baselines.get(pair.name);
  if (known !== undefined) return known;
  const fixed = prepare(pair, "fixed", values.python, CACHE);
  const made = "skipped" in fixed ? fixed : await makeBaseline(pair, fixed, { ...settings, baseline: "none" });
  baselines.set(pair.name, made);
  return made;
}

function describe({ pair, state, tool, result }: Outcome): string {
  const head = `${pair} ${state}, ${tool}`;
  if (result.kind === "skipped") return `${head}: skipped, ${result.why}`;
  const line = result.line === null ? "" : ` [${result.line}: ${result.match}]`;
  return `${head}: ${result.answer}${line}, ${result.minutes.toFixed(2)} min`;
}

const RESULTS = path.join(CACHE, "results.json");
function readResults(file: string): LeakResults {
  const machine = `${cpus()[0]?.model.trim() ?? "an unknown processor"}, ${arch()}, Node ${process.versions.node}, Python 3.${pythonMinor(values.python) ?? "?"}`;
  const empty: LeakResults = { schema: "stormlog.bench-leaks/1", machine, outcomes: [] };
  return existsSync(file) ? { ...(JSON.parse(readFileSync(file, "utf8")) as LeakResults), machine } : empty;
}

mkdirSync(CACHE, { recursive: true });
const outcomes: Outcome[] = [];
for (const pair of PAIRS.filter(({ name }) => names.includes(name))) {
  for (const state of states) {
    for (const tool of tools.filter((one) => judges(one, pair))) {
      for (let attempt = 1; attempt <= tries; attempt += 1) {
        const expected = pair.bytesPerCall === null ? null : pair.bytesPerCall * callsOf(pair, size);
        const result = await judgeOne(pair, state, tool);
        const outcome = { pair: pair.name, state, size, tool, try: attempt, expected_bytes: expected, result };
        outcomes.push(outcome);
        console.error(describe(outcome));
        writeFileSync(RESULTS, resultsDocument(withOutcomes(readResults(RESULTS), [outcome])));
      }
    }
  }
}
console.log(leakTables({ ...readResults(RESULTS), outcomes }));

if (values.page !== undefined) {
  const file = path.join(path.dirname(values.page), "evidence", "leaks.json");
  const results = withOutcomes(readResults(file), outcomes);
  writeFileSync(file, resultsDocument(results));
  writeFileSync(values.page, withLeaks(readFileSync(values.page, "utf8"), results));
}

/** The gate was red on the leaky release of a pair that grows without end alone, and named a line in no other. */
function expected({ pair, state, tool, result }: Outcome): boolean {
  if (tool !== "gate" || result.kind === "skipped") return true;
  const endless = PAIRS.some(({ name, bytesPerCall }) => name === pair && bytesPerCall !== null);
  return state === "leaky" ? result.red === endless : !result.red && result.line === null;
}
const missed = outcomes.filter((outcome) => !expected(outcome));
const judged = outcomes.some(({ tool, result }) => tool === "gate" && result.kind === "judged");
if (values.check && (missed.length > 0 || !judged)) {
  console.error(judged ? `not as expected:\n${missed.map(describe).join("\n")}` : "nothing was judged");
  process.exitCode = 1;
}
