import type { Command } from "../core/process/command.ts";
import type { Environment } from "../core/process/environment.ts";
import type { Horizon } from "../core/units.ts";
import type { IsolationMode } from "../telemetry/recording/isolation.ts";
import type { ServicePlan } from "../telemetry/recording/service.ts";
import type { Policy } from "../verdict/model/policy.ts";
import type { JudgedConfig } from "./base-policy.ts";
import type { ConfigFile, KnownLeak } from "./schema.ts";

/** Where a base re-run comes from: the merge base in a checkout of its own, nowhere, or a command of the user's. */
export type BaseRun =
  | { readonly kind: "auto" }
  | { readonly kind: "off" }
  | { readonly kind: "command"; readonly script: string };

/** When a run is repeated with attribution, to name the growing line: on a breach, never, or after every verdict. */
export type AttributeMode = "auto" | "off" | "always";

/** Whether processes are looked at from inside: where it can be had, never, or else the run has failed. */
export type ProbeMode = "auto" | "off" | "require";

export type UnjudgedMode = "fail" | "warn" | "pass";

/** One scenario as it will be measured and judged; options of the command line already folded in. */
export interface ScenarioRequest {
  readonly name: string;
  readonly command: Command;
  /** Present where the command is a service. */
  readonly service?: ServicePlan;
  /** Absolute working directory. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutS: number | null;
  readonly horizon: Horizon | null;
  /** Programs of the command that are not measured, in order of name. Default none. */
  readonly ignore?: readonly string[];
  readonly budgets: Policy["budgets"];
  /** How many candidate runs: as the rule needs, or a fixed number. */
  readonly repeats: "auto" | number;
  /** Canonical text of the scenario's definition in the config file; null for a command given on the spot. */
  readonly definition: string | null;
  /** Other texts of the same definition; absent = none. */
  readonly otherDefinitions?: readonly string[];
  /** Name that its baseline records and anchors have, where a change renamed it. */
  readonly formerName?: string;
  /** Present where `--vary` made this scenario of another one. */
  readonly varied?: { readonly of: string; readonly name: string; readonly value: string };
  /** Runs of any number of steps are compared with each other. */
  readonly anySteps?: true;
}

/** What a request takes from the policy part of a config file, so that another version of the file can replace it. */
type JudgedBy = Pick<
  GateRequest,
  | "scenarios"
  | "baselines"
  | "baseRun"
  | "maxRuns"
  | "maxMinutes"
  | "unjudged"
  | "gatingMetrics"
  | "gatingPhases"
  | "knownLeaks"
  | "scalingLimits"
  | "relativeMargin"
>;

/** The config file that a request was made from. */
export interface ConfigSource {
  /** Absolute path. */
  readonly file: string;
  /** The same request under an earlier version of the file. @throws GateError CONFIG_INVALID (exit 5) */
  readonly under: (base: ConfigFile) => { readonly judgedBy: JudgedBy; readonly differs: JudgedConfig };
}

/** Everything one gate invocation needs; built from command-line options or Action inputs, never from both. */
export interface GateRequest {
  readonly scenarios: readonly ScenarioRequest[];
  /** Baseline specs, tried in order; empty = none wanted. */
  readonly baselines: readonly string[];
  /** Absolute directory that relative baseline specs start from. */
  readonly root: string;
  /** Absolute directory of the bundle. */
  readonly bundle: string;
  /** Absolute directory for a copy of the evidence in segments, where the machine itself may be lost; null = none. */
  readonly stream: string | null;
  readonly hostPeriodNs: number;
  readonly devicePeriodNs: number;
  /** Fraction of one core, null = no governor. */
  readonly cpuBudget: number | null;
  readonly probe: ProbeMode;
  readonly isolation: IsolationMode;
  readonly attribute: AttributeMode;
  readonly baseRun: BaseRun;
  readonly maxRuns: number;
  readonly maxMinutes: number | null;
  readonly warningPercent: number;
  readonly criticalPercent: number;
  /** Also write `events.csv` into the directory of each run. */
  readonly csv: boolean;
  readonly unjudged: UnjudgedMode;
  readonly gatingMetrics: Policy["gatingMetrics"];
  readonly gatingPhases: Policy["gatingPhases"];
  readonly knownLeaks: readonly KnownLeak[];
  /** Sizes for which the largest fitting value of `--vary` is predicted. */
  readonly fits: readonly { readonly name: string; readonly bytes: number }[];
  /** Limits on how the peak grows with a varied value; null = none. */
  readonly scalingLimits: { readonly maxExponent: number | null; readonly maxCoefficient: number | null } | null;
  /** Fraction; null = the policy's default. */
  readonly relativeMargin: number | null;
  /** The probe may report its own errors on the measured processes' stderr. */
  readonly debug: boolean;
  /** Command line to print in reports. */
  readonly argv: readonly string[];
  /** Options by which `stormlog-gate run` repeats this request, except scenario, baselines and those of the output. */
  readonly givenOptions: readonly string[];
  /** Whether `stormlog-gate run` uses the same baselines without an option. */
  readonly usualBaselines: boolean;
  /** Absent when no config file defines what is measured. */
  readonly source?: ConfigSource;
  /** Environment of the caller; scrubbed before the measured command sees it. */
  readonly env: Environment;
}
