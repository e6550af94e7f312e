import * as v from "valibot";
import { type Document, isAlias, isMap, isNode, isScalar, isSeq, Lexer, LineCounter, parseDocument } from "yaml";
import { codeOf, GateError, invalidInput, messageOf } from "../core/errors.ts";
import { readBounded, TOO_LARGE } from "../core/files.ts";
import { didYouMean } from "../core/text.ts";
import { parseBudget, parseHorizon } from "./options.ts";
import { type ConfigFile, type ConfigScenario, ConfigSchema, ScenarioSchema, ServiceSchema } from "./schema.ts";
import { servicePlan } from "./service-plan.ts";

/**
 * Maximum tokens, several for each key and value. The parser's memory grows with them, and its time with their square:
 * a megabyte of short keys or brackets takes a minute or a gigabyte.
 */
const MAX_CONFIG_TOKENS = 50_000;

type Path = readonly (string | number)[];

/** Keys of the mapping in which a path ends. */
function knownKeys([room, ...rest]: Path): readonly string[] {
  const { policy, report } = ConfigSchema.entries;
  if (rest.length === 0) return Object.keys(ConfigSchema.entries);
  if (room === "scenarios") return Object.keys((rest.includes("service") ? ServiceSchema : ScenarioSchema).entries);
  return Object.keys(room === "policy" ? policy.wrapped.entries : report.wrapped.entries);
}

/** One problem with what to correct; the validator's own messages name types and lengths only. */
function problemText(issue: v.BaseIssue<unknown>): string {
  const place = v.getDotPath(issue);
  if (place === null) return issue.input === null ? "it is empty" : "it has no keys such as scenarios";
  // A strict object expects "never" for a key that it does not have.
  if (issue.expected === "never") {
    const keys = pathOf(issue);
    const near = didYouMean(String(keys.at(-1)), knownKeys(keys)).trim();
    return `${place} is an unknown key${near === "" ? "" : `. ${near}`}`;
  }
  if (issue.input === undefined) return `${place} is missing`;
  const [, expected, received] = /^Invalid \w+: Expected (.+) but received (.+)$/.exec(issue.message) ?? [];
  if (expected === undefined) return `${place} ${issue.message}`;
  return `${place} must be ${expected.replace(/^\((.*)\)$/, "$1").replaceAll(" | ", " or ")}, not ${received}`;
}

function pathOf(issue: v.BaseIssue<unknown>): Path {
  return (issue.path ?? []).map(({ key }) => (typeof key === "number" ? key : String(key)));
}

/** The line of a value or its key, or of the nearest one around it that the file has. */
function lineOf(document: Document, lines: LineCounter, path: Path): number {
  let node: unknown = document.contents;
  let offset = isNode(node) ? (node.range?.[0] ?? 0) : 0;
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document);
    let key: unknown = null;
    if (isMap(node)) {
      const pair = node.items.find((one) => isScalar(one.key) && String(one.key.value) === String(step));
      [key, node] = [pair?.key, pair?.value];
    } else {
      node = isSeq(node) ? node.items[Number(step)] : undefined;
      key = node;
    }
    if (!isNode(key)) break;
    offset = key.range?.[0] ?? offset;
  }
  return Math.max(1, lines.linePos(offset).line);
}

/** Whether the calendar has a day of the form `2027-01-31`. */
function isCalendarDay(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** Check values that the schema cannot: budgets and horizons, parsed as on the command line, and days. */
function checkValues(config: ConfigFile, refuse: (path: Path, problem: string, hint?: string) => GateError): void {
  for (const [index, { until }] of (config.policy?.["known-leaks"] ?? []).entries()) {
    if (isCalendarDay(until)) continue;
    const path = ["policy", "known-leaks", index, "until"];
    throw refuse(path, `${path.join(".")} "${until}" does not exist in the calendar`);
  }
  config.scenarios.forEach(({ budget, horizon, service }, index) => {
    const check = (path: Path, parse: () => unknown): void => {
      try {
        parse();
      } catch (error) {
        if (!(error instanceof GateError)) throw error;
        throw refuse(["scenarios", index, ...path], error.message, error.hint);
      }
    };
    for (const [metric, size] of Object.entries(budget ?? {}))
      check(["budget", metric], () => parseBudget(`${metric}=${size}`));
    if (horizon !== undefined) check(["horizon"], () => parseHorizon(String(horizon)));
    if (service !== undefined) check(["service", "requests"], () => servicePlan(service));
  });
}

/** @throws GateError CONFIG_TOO_LARGE */
function checkTokens(text: string, where: string): void {
  let tokens = 0;
  for (const _ of new Lexer().lex(text)) {
    tokens += 1;
    if (tokens > MAX_CONFIG_TOKENS)
      throw invalidInput(
        "CONFIG_TOO_LARGE",
        `${where} has more keys and values than a configuration file may have`,
        where,
      );
  }
}

/**
 * Check a configuration.
 * @throws GateError CONFIG_TOO_LARGE, CONFIG_SYNTAX, CONFIG_INVALID, CONFIG_DUPLICATE_SCENARIO (exit 5)
 */
export function parseConfig(text: string, where: string): ConfigFile {
  checkTokens(text, where);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const syntax = document.errors[0];
  if (syntax !== undefined) {
    const message = syntax.message.split("\n")[0]?.replace(/ at line \d+, column \d+:?$/, "");
    const line = lines.linePos(syntax.pos[0]).line;
    throw invalidInput("CONFIG_SYNTAX", `${where}:${line}: not valid YAML: ${message}`, where);
  }
  let values: unknown;
  try {
    // maxAliasCount bounds alias expansion ("billion laughs"); uniqueKeys is on by default and must stay so.
    values = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw invalidInput("CONFIG_SYNTAX", `${where} is not valid YAML: ${messageOf(error)}`, where);
  }
  const at = (path: Path): string => `${where}:${lineOf(document, lines, path)}`;
  const result = v.safeParse(ConfigSchema, values);
  if (!result.success) {
    const problems = result.issues.map((issue) => `${at(pathOf(issue))}: ${problemText(issue)}`);
    throw invalidInput(
      "CONFIG_INVALID",
      problems.join("; "),
      where,
      "`stormlog-gate init` in an empty directory writes a commented example.",
    );
  }
  const refuse = (path: Path, problem: string, hint?: string) =>
    invalidInput("CONFIG_INVALID", `${at(path)}: ${problem}`, where, hint);
  // The command of a service is its start.
  const scenarios = result.output.scenarios.flatMap((scenario): ConfigScenario[] => {
    const run = scenario.run ?? scenario.service?.start;
    return run === undefined ? [] : [{ ...scenario, run }];
  });
  const config = { ...result.output, scenarios };
  checkValues(config, refuse);
  const seen = new Set<string>();
  scenarios.forEach(({ name }, index) => {
    if (seen.has(name))
      throw invalidInput(
        "CONFIG_DUPLICATE_SCENARIO",
        `${at(["scenarios", index, "name"])}: a second scenario has the name "${name}"`,
        where,
      );
    seen.add(name);
  });
  return config;
}

/** @throws GateError CONFIG_NOT_FOUND, CONFIG_UNREADABLE, CONFIG_TOO_LARGE, those of {@link parseConfig} (exit 5) */
export function loadConfig(file: string): ConfigFile {
  let text: string;
  try {
    // Larger files are not configuration; the cap keeps a wrong path from being read whole.
    text = readBounded(file, 1024 * 1024).toString("utf8");
  } catch (error) {
    const code = codeOf(error);
    if (code === TOO_LARGE)
      throw invalidInput("CONFIG_TOO_LARGE", `${file} is larger than 1 MiB and cannot be a configuration file`, file);
    if (code === "ENOENT") {
      throw invalidInput(
        "CONFIG_NOT_FOUND",
        `the configuration file ${file} does not exist`,
        file,
        "Run `stormlog-gate init` to write one.",
      );
    }
    if (code === "EISDIR")
      throw invalidInput("CONFIG_UNREADABLE", `${file} is a directory`, file, "Name the file in it.");
    throw invalidInput("CONFIG_UNREADABLE", `${file} cannot be read: ${messageOf(error)}`, file);
  }
  return parseConfig(text, file);
}
