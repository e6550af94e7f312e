import { existsSync } from "node:fs";
import path from "node:path";
import type { GateRequest, UnjudgedMode } from "../config/gate-request.ts";
import { loadConfig } from "../config/load.ts";
import { gateRequest } from "../config/options.ts";
import type { ConfigFile } from "../config/schema.ts";
import type { Command } from "../core/command.ts";
import type { Invocation, OptionSpec } from "./command.ts";

/** Options that say how to measure; shared by `record`, `run` and `baseline refresh`. */
export const MEASURE_OPTIONS = {
  scenario: {
    type: "string",
    description:
      "Name of the scenario, or several of the config file with commas (default: default, or all of the file)",
    valueHint: "NAME",
  },
  interval: { type: "string", description: "Host sampling period, ms (default 5)", valueHint: "MS" },
  "device-interval": { type: "string", description: "Device sampling period, ms (default 20)", valueHint: "MS" },
  "cpu-budget": {
    type: "string",
    description: "CPU the sampler may use, percent of one core (default 1)",
    valueHint: "PERCENT|off",
  },
  timeout: { type: "string", description: "End one run after this many seconds", valueHint: "S" },
  probe: { type: "string", description: "In-process probe", valueHint: "auto|off|require" },
  attribute: { type: "string", description: "Name the growing line", valueHint: "auto|off|always" },
  "warning-percent": {
    type: "string",
    description: "Alert at this share of the device (default 80)",
    valueHint: "PERCENT",
  },
  "critical-percent": {
    type: "string",
    description: "Critical alert at this share (default 95)",
    valueHint: "PERCENT",
  },
} as const satisfies Record<string, OptionSpec>;

/** Options that say how to judge. */
export const JUDGE_OPTIONS = {
  baseline: {
    type: "string",
    multiple: true,
    description: "Baseline: file:DIR, ref:NAME, bundle:DIR, a file, or none; repeatable",
    valueHint: "SPEC",
  },
  bundle: {
    type: "string",
    description: "Directory for the evidence bundle (default stormlog-bundle)",
    valueHint: "DIR",
  },
  repeats: { type: "string", description: "Candidate runs: as the rule needs, or a number", valueHint: "auto|N" },
  "base-run": { type: "string", description: "How to run the base commit before red", valueHint: "auto|off|CMD" },
  "max-runs": { type: "string", description: "Most runs of one scenario (default 10)", valueHint: "N" },
  "max-minutes": { type: "string", description: "Most minutes of one scenario", valueHint: "M" },
  horizon: { type: "string", description: "Production length at which growth is judged", valueHint: "STEPS|HOURSh" },
  budget: {
    type: "string",
    multiple: true,
    description: "Absolute limit on a peak, repeatable",
    valueHint: "METRIC=SIZE",
  },
  unjudged: {
    type: "string",
    description: "What an unjudged verdict exits with (default fail)",
    valueHint: "fail|warn|pass",
  },
} as const satisfies Record<string, OptionSpec>;

const CONFIG_FILE = "stormlog-gate.yml";

/** The named config file, else `stormlog-gate.yml` where it lies in the working directory and is wanted. */
export function configOf(invocation: Invocation, wanted: boolean): ConfigFile | null {
  const named = invocation.text.config;
  if (named !== undefined) return loadConfig(named);
  return wanted && existsSync(CONFIG_FILE) ? loadConfig(CONFIG_FILE) : null;
}

/** Where the relative paths of this invocation start: at a named config file, unless a command replaces its scenarios. */
export function rootOf({ text, rest }: Pick<Invocation, "text" | "rest">): string {
  return text.config !== undefined && rest === null ? path.dirname(path.resolve(text.config)) : process.cwd();
}

export interface RequestDefaults {
  readonly baselines: readonly string[];
  readonly unjudged: UnjudgedMode;
}

/**
 * Build the gate's request from a parsed command line.
 * @throws GateError as `gateRequest` and `loadConfig`
 */
export function requestOf(invocation: Invocation, defaults: RequestDefaults): GateRequest {
  const { text, lists, rest } = invocation;
  const command: Command | null = rest === null ? null : { kind: "argv", argv: rest };
  const config = configOf(invocation, command === null);
  return gateRequest({
    options: {
      scenario: text.scenario,
      baseline: lists.baseline,
      bundle: text.bundle === undefined ? undefined : path.resolve(text.bundle),
      intervalMs: text.interval,
      deviceIntervalMs: text["device-interval"],
      cpuBudget: text["cpu-budget"],
      repeats: text.repeats,
      baseRun: text["base-run"],
      maxRuns: text["max-runs"],
      maxMinutes: text["max-minutes"],
      timeout: text.timeout,
      horizon: text.horizon,
      budget: lists.budget,
      warningPercent: text["warning-percent"],
      criticalPercent: text["critical-percent"],
      probe: text.probe,
      attribute: text.attribute,
      unjudged: text.unjudged,
    },
    command,
    config,
    configFile: config === null ? undefined : path.resolve(text.config ?? CONFIG_FILE),
    root: rootOf(invocation),
    defaultBaselines: defaults.baselines,
    defaultUnjudged: defaults.unjudged,
    argv: invocation.argv,
    env: process.env,
    debug: invocation.flags.debug === true,
  });
}
