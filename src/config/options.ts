import path from "node:path";
import { usageError } from "../core/errors.ts";
import { withoutLinks } from "../core/files.ts";
import type { Command } from "../core/process/command.ts";
import type { Environment } from "../core/process/environment.ts";
import { type Horizon, parseDuration } from "../core/units.ts";
import { isCounted, METRICS } from "../telemetry/recording/metrics.ts";
import type { Budget } from "../verdict/model/policy.ts";
import { type JudgedConfig, underBasePolicy } from "./base-policy.ts";
import type { BaseRun, ConfigSource, GateRequest, ScenarioRequest, UnjudgedMode } from "./gate-request.ts";
import { parseBytes, parseFits, plainScript } from "./policy-changes.ts";
import { DEFAULTS, type GateOptions, RUN_OPTION_ENTRIES } from "./run-options.ts";
import type { ConfigFile, ConfigScenario } from "./schema.ts";
import { commandOf, servicePlan } from "./service-plan.ts";

function number(name: string, text: string, low: number, high: number): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < low || value > high) {
    throw usageError("OPTION_INVALID", `--${name} "${text}" is not a number between ${low} and ${high}`);
  }
  return value;
}

/** A length of time in the option's own unit, of so many seconds: a number of them, or a text such as "5m". */
function time(name: string, value: string | number, unitS: number, low: number, high: number): number {
  const seconds = typeof value === "number" ? null : parseDuration(value);
  return number(name, String(seconds === null ? value : seconds / unitS), low, high);
}

/** @throws GateError OPTION_INVALID (usage) */
export function integer(name: string, text: string, low: number, high: number): number {
  const value = number(name, text, low, high);
  if (!Number.isInteger(value)) throw usageError("OPTION_INVALID", `--${name} "${text}" is not a whole number`);
  return value;
}

/** The value of an option that takes one of several. @throws GateError OPTION_INVALID (usage) */
export function choice<T extends string>(name: string, text: string, allowed: readonly T[]): T {
  const found = allowed.find((word) => word === text);
  if (found === undefined) {
    throw usageError("OPTION_INVALID", `--${name} "${text}" is not one of ${allowed.join(", ")}`);
  }
  return found;
}

/** Parse `METRIC=SIZE`. @throws GateError BUDGET_INVALID, SIZE_INVALID (usage) */
export function parseBudget(text: string): Budget {
  const at = text.indexOf("=");
  const metric = METRICS.find((name) => name === text.slice(0, Math.max(0, at)));
  if (metric === undefined) {
    throw usageError(
      "BUDGET_INVALID",
      `budget "${text}" is not METRIC=SIZE`,
      `METRIC is one of ${METRICS.join(", ")}, for example host=2GiB.`,
    );
  }
  const size = text.slice(at + 1).trim();
  const bytes = parseBytes(size);
  if (!isCounted(metric) && /^\d+$/.test(size) && bytes > 0 && bytes < 1024) {
    throw usageError(
      "BUDGET_INVALID",
      `budget "${text}" is ${bytes} bytes`,
      `Write the unit: "${metric}=${size}MiB", or "${metric}=${size}B" if bytes are meant.`,
    );
  }
  return { metric, bytes };
}

/** Parse steps ("1000000") or hours ("72h") of production. @throws GateError HORIZON_INVALID (usage) */
export function parseHorizon(text: string): Horizon {
  const match = /^(\d+(?:\.\d+)?(?:e\d+)?)(h?)$/.exec(text.trim());
  const value = match ? Number(match[1]) : Number.NaN;
  if (!match || !Number.isFinite(value) || value <= 0) {
    throw usageError(
      "HORIZON_INVALID",
      `horizon "${text}" is neither a number of steps nor hours`,
      'Write "1000000" for steps or "72h" for hours.',
    );
  }
  return match[2] === "h" ? { kind: "seconds", seconds: value * 3600 } : { kind: "steps", steps: value };
}

function parseBaseRun(text: string): BaseRun {
  if (text === "auto" || text === "off") return { kind: text };
  if (text.trim() === "")
    throw usageError("OPTION_INVALID", "--base-run is empty", "Use auto, off, or the command that runs the base.");
  return { kind: "command", script: text };
}

function parseCpuBudget(text: string): number | null {
  return text === "off" ? null : number("cpu-budget", text.replace(/%$/, ""), 0.01, 100) / 100;
}

/** @throws GateError OPTION_INVALID (usage) for a directory that cannot have evidence alone */
function bundleDirectory(root: string, text: string): string {
  const hint = `Name a directory of its own, such as ${DEFAULTS.bundle}.`;
  if (text.trim() === "") throw usageError("OPTION_INVALID", "--bundle is empty", hint);
  const directory = withoutLinks(path.resolve(root, text));
  const inside = path.relative(directory, withoutLinks(root));
  if (inside.split(path.sep)[0] !== ".." && !path.isAbsolute(inside))
    throw usageError("OPTION_INVALID", `--bundle "${text}" contains the working directory`, hint);
  return directory;
}

function streamDirectory(root: string, text: string | undefined): string | null {
  if (text?.trim() === "") throw usageError("OPTION_INVALID", "--stream is empty", "Name a directory.");
  return text === undefined ? null : path.resolve(root, text);
}

type Defined = Pick<ConfigScenario, "run" | "cwd" | "env" | "service">;

function definitionOf(run: ConfigScenario["run"], { cwd, env, service }: Defined): string {
  const pairs = Object.entries(env ?? {}).map(([key, value]) => [key, String(value)]);
  const plan = service === undefined ? {} : { service: servicePlan(service) };
  return JSON.stringify({ run, cwd: cwd ?? ".", env: pairs.sort(), ...plan });
}

/**
 * Canonical text of what a scenario does; records of different texts are never compared. Blanks around a command do not
 * count, except for the line end of a YAML block, by which existing records know their scenario.
 */
export function scenarioDefinition(scenario: Defined): string {
  const { run } = scenario;
  if (typeof run !== "string") return definitionOf(run, scenario);
  return definitionOf(`${plainScript(run)}${/\n\s*$/.test(run) ? "\n" : ""}`, scenario);
}

/** Other texts of the same definition, by which records of other spellings and earlier versions know it. */
function otherDefinitions(scenario: Defined): readonly string[] {
  const { run } = scenario;
  if (typeof run !== "string") return [];
  const plain = plainScript(run);
  const all = [plain, `${plain}\n`, run].map((text) => definitionOf(text, scenario));
  return [...new Set(all)].filter((text) => text !== scenarioDefinition(scenario));
}

const runOf = (command: Command): ConfigScenario["run"] =>
  command.kind === "shell" ? command.script : [...command.argv];
const textsOf = (env: ConfigScenario["env"]): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(env ?? {}).map(([key, value]) => [key, String(value)]));

/** What `--vary` changes from scenario to scenario. */
interface Vary {
  readonly name: string;
  readonly values: readonly string[];
}

const MAX_VALUES = 40;

/** @throws GateError OPTION_INVALID (usage) */
function parseVary(text: string): Vary {
  const [, name, list = ""] = /^([A-Za-z_]\w*)=(.+)$/.exec(text.trim()) ?? [];
  const values = [...new Set(list.split(",").map((value) => value.trim()))];
  if (name === undefined || values.includes("") || values.length < 2 || values.length > MAX_VALUES) {
    throw usageError(
      "OPTION_INVALID",
      `--vary "${text}" is not a name with 2 to ${MAX_VALUES} values`,
      "Write for example --vary BATCH=8,16,32,64,128.",
    );
  }
  return { name, values };
}

function scalingLimits(given: NonNullable<ConfigFile["policy"]>["scaling"]): GateRequest["scalingLimits"] {
  if (given === undefined) return null;
  const most = given["max-b"];
  return {
    maxExponent: given["max-exponent"] ?? null,
    maxCoefficient: most === undefined ? null : parseBytes(String(most)),
  };
}

type Variant<T> = T & { readonly varied?: Pick<ScenarioRequest, "varied"> };

/** One scenario for each value, in its environment or in place of `{NAME}`; without `--vary` the scenario itself. */
function variants<T extends Pick<ConfigScenario, "name" | "run" | "env">>(
  vary: Vary | null,
  scenario: T,
): readonly Variant<T>[] {
  if (vary === null) return [scenario];
  const { name } = vary;
  const { run } = scenario;
  const place = `{${name}}`;
  return vary.values.map((value) => {
    const varied = { varied: { of: scenario.name, name, value } };
    const named = { ...scenario, name: `${scenario.name}@${name}=${value}`, varied };
    if (![run].flat().some((word) => word.includes(place))) {
      return { ...named, env: { ...scenario.env, [name]: value } };
    }
    const put = (word: string) => word.replaceAll(place, value);
    return { ...named, run: typeof run === "string" ? put(run) : run.map(put) };
  });
}

function scenarioRequest(
  scenario: ConfigScenario,
  root: string,
  options: GateOptions,
): Omit<ScenarioRequest, "definition" | "otherDefinitions"> {
  const horizon = options.horizon ?? scenario.horizon;
  const timeout = options.timeout ?? scenario.timeout;
  const byMetric = new Map<string, Budget>();
  // The command line comes last, so that for one metric it wins.
  const budgets = [
    ...Object.entries(scenario.budget ?? {}).map(([metric, value]) => `${metric}=${value}`),
    ...(options.budget ?? []),
  ].map(parseBudget);
  for (const budget of budgets) byMetric.set(budget.metric, budget);
  return {
    name: scenario.name,
    command: commandOf(scenario.run),
    ...(scenario.service === undefined ? {} : { service: servicePlan(scenario.service) }),
    cwd: path.resolve(root, scenario.cwd ?? "."),
    env: textsOf(scenario.env),
    timeoutS: timeout === undefined ? null : time("timeout", timeout, 1, 0.1, 1e7),
    horizon: horizon === undefined ? null : parseHorizon(String(horizon)),
    ...(scenario.ignore === undefined ? {} : { ignore: [...new Set(scenario.ignore)].sort() }),
    budgets: [...byMetric.values()],
    repeats: parseRepeats(options.repeats ?? (scenario.repeats === undefined ? undefined : String(scenario.repeats))),
  };
}

function parseRepeats(text: string | undefined): "auto" | number {
  return text === undefined || text === "auto" ? "auto" : integer("repeats", text, 1, 50);
}

/** The scenarios an option names (separated by commas or line ends), in the order of the file. */
function chooseScenarios(config: ConfigFile, options: GateOptions): readonly ConfigScenario[] {
  const { scenario: text } = options;
  if (text === undefined) return config.scenarios;
  const known = config.scenarios.map(({ name }) => name);
  const parts = text.split(/[\n,]/).map((part) => part.trim());
  // A name may hold a comma itself.
  const names = known.includes(text) ? [text] : parts.filter((part) => part !== "");
  const unknown = names.length === 0 ? text : names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw usageError(
      "SCENARIO_UNKNOWN",
      `the configuration has no scenario "${unknown}"`,
      `It has: ${known.join(", ")}.`,
    );
  }
  return config.scenarios.filter(({ name }) => names.includes(name));
}

function baselineSpecs(
  options: GateOptions,
  config: ConfigFile | null,
  fallback: readonly string[],
): readonly string[] {
  const given = options.baseline ?? (config?.baseline === undefined ? undefined : [config.baseline].flat());
  const specs = given ?? fallback;
  return specs.includes("none") ? [] : specs;
}

/** The given options, as a repetition of the request needs them, as words of a command line. */
function givenOptions(options: GateOptions): readonly string[] {
  return RUN_OPTION_ENTRIES.filter(([, { notRepeated }]) => !notRepeated).flatMap(([name]) =>
    [options[name] ?? []]
      .flat()
      .flatMap((value) => (value.startsWith("-") ? [`--${name}=${value}`] : [`--${name}`, value])),
  );
}

export interface GateRequestInput {
  readonly options: GateOptions;
  /** The command after `--`, or the Action's `run`; null = the scenarios of the config file. */
  readonly command: Command | null;
  readonly config: ConfigFile | null;
  /** Absolute path of the config file, where it was read from one. */
  readonly configFile?: string | undefined;
  /** Directory that relative paths of the config file and the command start from. */
  readonly root: string;
  readonly defaultBaselines: readonly string[];
  readonly defaultUnjudged: UnjudgedMode;
  readonly argv: readonly string[];
  readonly env: Environment;
  /** `--debug`; default false. */
  readonly debug?: boolean;
}

/** Fold options over the config file. @throws GateError OPTION_INVALID, NO_COMMAND, … (usage), CONFIG_INVALID */
export function gateRequest(input: GateRequestInput): GateRequest {
  const { options, config } = input;
  if (input.command === null && config === null) {
    throw usageError(
      "NO_COMMAND",
      "there is nothing to run",
      "Give a command after `--`, or write a stormlog-gate.yml (`stormlog-gate init`).",
    );
  }
  if (options.scenario?.trim() === "") {
    throw usageError("OPTION_INVALID", "--scenario is empty", "Give the scenario a name, or leave the option out.");
  }
  const probe = choice("probe", options.probe ?? "auto", ["auto", "off", "require"]);
  const isolation = choice("isolation", options.isolation ?? "off", ["auto", "off", "require"]);
  const attribute = choice("attribute", options.attribute ?? "auto", ["auto", "off", "always"]);
  const policy = config?.policy;
  const maxMinutes = options["max-minutes"] ?? policy?.["max-minutes"];
  const report = config?.report ?? {};
  const vary = options.vary === undefined ? null : parseVary(options.vary);
  if (vary === null && options.fits !== undefined) {
    throw usageError("OPTION_INVALID", "--fits without --vary", "Give the values to run with --vary NAME=V1,V2,…");
  }
  const chosen =
    input.command === null
      ? chooseScenarios(config as ConfigFile, options)
      : [{ name: options.scenario ?? DEFAULTS.scenario, run: runOf(input.command) }];
  const scenarios = chosen.flatMap((scenario) =>
    variants(vary, scenario).map(
      ({ varied, ...one }): ScenarioRequest => ({
        ...scenarioRequest(one, input.root, options),
        ...(input.command === null
          ? { definition: scenarioDefinition(one), otherDefinitions: otherDefinitions(one) }
          : { definition: null }),
        ...varied,
      }),
    ),
  );
  const within = (name: string, given: string | undefined, fallback: number, low: number, high: number) =>
    number(name, given ?? String(fallback), low, high);
  const { "warning-percent": warning, "critical-percent": critical } = report;
  const margin = policy?.["relative-margin-percent"];
  return {
    scenarios,
    baselines: baselineSpecs(options, config, input.defaultBaselines),
    root: input.root,
    bundle: bundleDirectory(input.root, options.bundle ?? report.bundle ?? DEFAULTS.bundle),
    stream: streamDirectory(input.root, options.stream),
    hostPeriodNs: Math.round(within("interval", options.interval, DEFAULTS.intervalMs, 0.5, 1000) * 1e6),
    devicePeriodNs: Math.round(
      within("device-interval", options["device-interval"], DEFAULTS.deviceIntervalMs, 0.5, 1000) * 1e6,
    ),
    cpuBudget: parseCpuBudget(options["cpu-budget"] ?? String(DEFAULTS.cpuBudgetPercent)),
    probe,
    isolation,
    attribute,
    baseRun: parseBaseRun(options["base-run"] ?? policy?.["base-run"] ?? "auto"),
    maxRuns: integer("max-runs", options["max-runs"] ?? String(policy?.["max-runs"] ?? DEFAULTS.maxRuns), 1, 100),
    maxMinutes: maxMinutes === undefined ? null : time("max-minutes", maxMinutes, 60, 0.01, 1e5),
    warningPercent: within("warning-percent", options["warning-percent"], warning ?? DEFAULTS.warningPercent, 0, 100),
    criticalPercent: within(
      "critical-percent",
      options["critical-percent"],
      critical ?? DEFAULTS.criticalPercent,
      0,
      100,
    ),
    csv: report.csv ?? false,
    unjudged: choice("unjudged", options.unjudged ?? policy?.unjudged ?? input.defaultUnjudged, [
      "fail",
      "warn",
      "pass",
    ]),
    gatingMetrics: policy?.gating ?? null,
    gatingPhases: [...new Set(policy?.["gating-phases"])],
    knownLeaks: policy?.["known-leaks"] ?? [],
    fits: (options.fits ?? []).map(parseFits),
    scalingLimits: scalingLimits(policy?.scaling),
    relativeMargin: margin === undefined ? null : margin / 100,
    debug: input.debug ?? false,
    argv: input.argv,
    givenOptions: givenOptions(options),
    usualBaselines:
      options.baseline === undefined &&
      (config?.baseline !== undefined || input.defaultBaselines.join() === DEFAULTS.baseline),
    ...sourceOf(input),
    env: input.env,
  };
}

/** Of one scenario alone, or of a command given on the spot, other scenarios are not missing. */
function narrowed(differs: JudgedConfig, { command, options }: GateRequestInput): JudgedConfig {
  if (command !== null) {
    const changes = differs.changes.filter(({ path: place }) => !place.startsWith("scenarios."));
    return { ...differs, changes, removed: [], redefined: [], renamed: new Map(), notes: [] };
  }
  return options.scenario === undefined ? differs : { ...differs, removed: [] };
}

/** How the same options fold over an earlier version of the config file. */
function sourceOf(input: GateRequestInput): Pick<GateRequest, "source"> {
  const { config, configFile } = input;
  if (config === null || configFile === undefined) return {};
  const under: ConfigSource["under"] = (base) => {
    const differs = narrowed(underBasePolicy(base, config), input);
    const judged = gateRequest({ ...input, config: differs.config, configFile: undefined });
    const { scenarios, baselines, baseRun, maxRuns, maxMinutes, unjudged, relativeMargin } = judged;
    const { gatingMetrics, gatingPhases, knownLeaks, scalingLimits } = judged;
    const limits = { baseRun, maxRuns, maxMinutes, unjudged, relativeMargin };
    return {
      judgedBy: { scenarios, baselines, ...limits, gatingMetrics, gatingPhases, knownLeaks, scalingLimits },
      differs,
    };
  };
  return { source: { file: configFile, under } };
}
