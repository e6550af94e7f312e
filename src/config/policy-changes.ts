import { usageError } from "../core/errors.ts";
import { cutText } from "../core/text.ts";
import { parseSize } from "../core/units.ts";
import type { ConfigFile, ConfigScenario } from "./schema.ts";

/** A setting that differs between the base commit and the change. */
export interface ConfigChange {
  /** Where in the config file: `scenarios.train.budget.host`. */
  readonly path: string;
  /** As written; null = not there. */
  readonly base: string | null;
  readonly head: string | null;
}

/** A value as it would be written in the file. */
function written(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  const text = typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
  // Maximum length of one side; the rest of a longer command is cut.
  return cutText(text, 500);
}

/** A script without the blanks around it, which a shell ignores. An escaped blank at its end is part of a word. */
export function plainScript(script: string): string {
  const plain = script.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "");
  const [slashes = ""] = /\\+$/.exec(plain) ?? [];
  return slashes.length % 2 === 0 ? plain : script.replace(/^[ \t\r\n]+/, "").slice(0, plain.length + 1);
}

/** The meaning of a value: `1e3` and `1000` steps, or a name and a list of it, are no change. */
type Meaning = (value: unknown) => unknown;

const same: Meaning = (value) => value;
const command: Meaning = (value) => (typeof value === "string" ? plainScript(value) : value);
const asList: Meaning = (value) => (value === undefined ? undefined : [value].flat());
const sorted: Meaning = (value) => (Array.isArray(value) ? [...value].sort() : value);
const orAuto: Meaning = (value) => (value === undefined ? "auto" : String(value));
const orHere: Meaning = (value) => value ?? ".";
const size: Meaning = (value) => {
  if (value === undefined) return undefined;
  try {
    return parseBytes(String(value));
  } catch {
    return String(value);
  }
};
const length: Meaning = (value) => {
  if (value === undefined) return undefined;
  const [, count, unit] = /^\s*(\d[\d.]*(?:e\d+)?)(h?)\s*$/.exec(String(value)) ?? [];
  return count === undefined ? String(value) : `${Number(count)}${unit}`;
};
const environment: Meaning = (value) =>
  JSON.stringify(
    Object.entries((value ?? {}) as Readonly<Record<string, unknown>>)
      .map(([key, one]): [string, string] => [key, String(one)])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );

function changed(path: string, base: unknown, head: unknown, meaning: Meaning): readonly ConfigChange[] {
  if (JSON.stringify(meaning(base)) === JSON.stringify(meaning(head))) return [];
  return [{ path, base: written(base), head: written(head) }];
}

const POLICY: Readonly<Record<string, Meaning>> = {
  unjudged: same,
  "base-run": orAuto,
  gating: sorted,
  "gating-phases": sorted,
  "known-leaks": same,
  scaling: same,
  "relative-margin-percent": same,
  "max-runs": same,
  "max-minutes": same,
};

/** A budget that is new, or lower than at the base commit, binds the change more than its base would. */
export function isTighter(base: unknown, head: unknown): boolean {
  const [before, now] = [size(base), size(head)];
  return typeof now === "number" && (before === undefined || (typeof before === "number" && now < before));
}

function budgetChanges(place: string, base: ConfigScenario, head: ConfigScenario): readonly ConfigChange[] {
  const [before, now]: readonly Readonly<Record<string, unknown>>[] = [base.budget ?? {}, head.budget ?? {}];
  const metrics = [...new Set([...Object.keys(before ?? {}), ...Object.keys(now ?? {})])].sort();
  return metrics
    .filter((metric) => !isTighter(before?.[metric], now?.[metric]))
    .flatMap((metric) => changed(`${place}.budget.${metric}`, before?.[metric], now?.[metric], size));
}

/** The parts of a scenario that define what is measured; a change of them makes another scenario of the same name. */
export function definitionChanges(base: ConfigScenario, head: ConfigScenario): readonly ConfigChange[] {
  const place = `scenarios.${base.name}`;
  return [
    ...changed(`${place}.run`, base.run, head.run, command),
    ...changed(`${place}.cwd`, base.cwd, head.cwd, orHere),
    ...changed(`${place}.env`, base.env, head.env, environment),
    ...changed(`${place}.service`, base.service, head.service, same),
  ];
}

function scenarioChanges(base: ConfigScenario, head: ConfigScenario): readonly ConfigChange[] {
  const place = `scenarios.${base.name}`;
  return [
    ...changed(`${place}.name`, base.name, head.name, same),
    ...definitionChanges(base, head),
    ...budgetChanges(place, base, head),
    ...changed(`${place}.horizon`, base.horizon, head.horizon, length),
    ...changed(`${place}.repeats`, base.repeats, head.repeats, orAuto),
    ...changed(`${place}.ignore`, base.ignore, head.ignore, sorted),
  ];
}

/** A scenario of a change, and what it was in the base commit; null where it is new. */
export interface ScenarioPair {
  readonly was: ConfigScenario | null;
  readonly now: ConfigScenario;
}

/**
 * The scenarios of a change, each with that of the base commit: of the same name, or of the same content (command,
 * directory, environment) where the name is gone. Of several with this content, one with the same settings comes first.
 */
export function scenarioPairs(
  base: ConfigFile,
  head: ConfigFile,
): { readonly pairs: readonly ScenarioPair[]; readonly removed: readonly ConfigScenario[] } {
  const byName = new Map(base.scenarios.map((scenario) => [scenario.name, scenario]));
  const names = new Set(head.scenarios.map(({ name }) => name));
  const gone = new Set(base.scenarios.filter(({ name }) => !names.has(name)));
  const pairs = head.scenarios.map((now): ScenarioPair => {
    const named = byName.get(now.name);
    if (named !== undefined) return { was: named, now };
    const alike = [...gone].filter((was) => definitionChanges(was, now).length === 0);
    // Compared both ways, because tighter budgets are not listed.
    const same = (one: ConfigScenario): boolean =>
      scenarioChanges(one, now).length + scenarioChanges(now, one).length === 2;
    const was = alike.find(same) ?? alike[0] ?? null;
    if (was !== null) gone.delete(was);
    return { was, now };
  });
  return { pairs, removed: [...gone] };
}

/** Settings of measurement and judgement that differ from the base, without tighter budgets and new scenarios. */
export function policyChanges(base: ConfigFile, head: ConfigFile): readonly ConfigChange[] {
  const { pairs, removed } = scenarioPairs(base, head);
  const scenarios = [
    ...pairs.flatMap(({ was, now }) => (was === null ? [] : scenarioChanges(was, now))),
    ...removed.map(({ name, run }) => ({ path: `scenarios.${name}`, base: written(run), head: null })),
  ];
  const before: Readonly<Record<string, unknown>> = base.policy ?? {};
  const now: Readonly<Record<string, unknown>> = head.policy ?? {};
  const policy = Object.entries(POLICY).flatMap(([key, meaning]) =>
    changed(`policy.${key}`, before[key], now[key], meaning),
  );
  return [...scenarios, ...changed("baseline", base.baseline, head.baseline, asList), ...policy];
}

/**
 * Parse the size of an option or of the config file: "512MiB", "4096", "85.0e9".
 * @throws GateError SIZE_INVALID (usage)
 */
export function parseBytes(text: string): number {
  // Bytes without a unit: "85.0e9".
  const bytes = /^\s*\d+(?:\.\d+)?e\d{1,2}\s*$/i.test(text) ? Math.floor(Number(text)) : Number.NaN;
  return Number.isSafeInteger(bytes) ? bytes : parseSize(text);
}

/**
 * Parse a memory size with an optional name, "80GB=85.0e9".
 * @throws GateError SIZE_INVALID, OPTION_INVALID (usage)
 */
export function parseFits(text: string): { readonly name: string; readonly bytes: number } {
  const at = text.indexOf("=");
  const [name, size] = at > 0 ? [text.slice(0, at), text.slice(at + 1)] : [text, text];
  const bytes = parseBytes(size);
  if (bytes === 0) {
    throw usageError(
      "OPTION_INVALID",
      `--fits "${text}" is not a size above 0`,
      "Write for example --fits 80GB=85.0e9.",
    );
  }
  return { name, bytes };
}
