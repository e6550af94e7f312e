import type { Horizon, Policy } from "../verdict/policy.ts";

/** What to start: an argument vector without a shell, or one string for `sh -c`. */
export type Command =
  | { readonly kind: "argv"; readonly argv: readonly string[] }
  | { readonly kind: "shell"; readonly script: string };

/** Where a base re-run comes from: the merge base in a git worktree, nowhere, or a command of the user's. */
export type BaseRun =
  | { readonly kind: "auto" }
  | { readonly kind: "off" }
  | { readonly kind: "command"; readonly script: string };

export type UnjudgedMode = "fail" | "warn" | "pass";

/** One scenario as it will be measured and judged; options of the command line already folded in. */
export interface ScenarioRequest {
  readonly name: string;
  readonly command: Command;
  /** Absolute working directory. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutS: number | null;
  readonly horizon: Horizon | null;
  readonly budgets: Policy["budgets"];
  /** How many candidate runs: as the rule needs, or a fixed number. */
  readonly repeats: "auto" | number;
  /** Canonical text of the scenario's definition in the config file; null for a command given on the spot. */
  readonly definition: string | null;
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
  readonly hostPeriodNs: number;
  readonly devicePeriodNs: number;
  /** Fraction of one core, null = no governor. */
  readonly cpuBudget: number | null;
  readonly baseRun: BaseRun;
  readonly maxRuns: number;
  readonly maxMinutes: number | null;
  readonly warningPercent: number;
  readonly criticalPercent: number;
  readonly unjudged: UnjudgedMode;
  readonly gatingMetrics: Policy["gatingMetrics"];
  /** Fraction; null = the policy's default. */
  readonly relativeMargin: number | null;
  /** Command line to print in reports. */
  readonly argv: readonly string[];
  /** Environment of the caller; scrubbed before the measured command sees it. */
  readonly env: Readonly<Record<string, string | undefined>>;
}
