import { METRICS } from "../telemetry/recording/metrics.ts";

/** An option in the command line's help, the inputs of `action.yml` and the tables of the documentation. */
export interface RunOption {
  /** Options of measuring are also those of `record` and `baseline refresh`. */
  readonly group: "measure" | "judge";
  /** Among those that the help shows first. */
  readonly first?: true;
  /** What follows the option: a name for the value, or its alternatives. */
  readonly value: string;
  /** One sentence without its full stop; code in backticks. */
  readonly description: string;
  /** Further sentences, in the documentation of the command line only. */
  readonly details?: string;
  readonly default?: string;
  /** Repeatable; as an input one value per line or separated by commas. */
  readonly multiple?: true;
  /** A repetition of the request elsewhere leaves it out, or the report contains it itself. */
  readonly notRepeated?: true;
  /** It means nothing to `bisect` and `culprit`, which choose states, baselines and bundles themselves. */
  readonly notInSearches?: true;
  /** The input of the Action. `given`: default in `action.yml`, for inputs that the config file cannot set. */
  readonly input?: { readonly name: string; readonly default?: string; readonly given?: string };
}

const METRIC_NAMES = METRICS.map((name) => `\`${name}\``)
  .join(", ")
  .replace(/, (?=[^,]+$)/, " or ");

/** Options of `run`, in the documentation's order. `npm run options` writes `action.yml` and the tables from here. */
export const RUN_OPTIONS = {
  scenario: {
    group: "measure",
    first: true,
    value: "NAME",
    notRepeated: true,
    notInSearches: true,
    description: "Scenarios of the config file to run, separated by commas, or the name for the given command",
    default: "all, or `default`",
    input: { name: "scenario" },
  },
  baseline: {
    group: "judge",
    first: true,
    value: "SPEC",
    multiple: true,
    notRepeated: true,
    notInSearches: true,
    description: "Accepted measurements: `file:DIR`, `ref:NAME`, `artifact:NAME`, `bundle:DIR`, a file, or `none`",
    details: "Several are tried in order ([baselines](baselines.md)).",
    default: "`file:baselines`",
    input: { name: "baseline", default: "`ref:refs/stormlog/baselines`, then `file:baselines`" },
  },
  bundle: {
    group: "judge",
    first: true,
    value: "DIR",
    notRepeated: true,
    notInSearches: true,
    description: "Directory for the evidence bundle",
    details: "An earlier bundle is replaced, any other directory is left alone. One gate writes a bundle at a time.",
    default: "`stormlog-bundle`",
  },
  stream: {
    group: "measure",
    value: "DIR",
    notRepeated: true,
    notInSearches: true,
    description: "Also write the evidence into this directory, a new file each second",
    details: "`show DIR` reads what a killed machine left there ([services](services.md#when-the-machine-is-killed)).",
  },
  interval: {
    group: "measure",
    value: "MS",
    description: "Sampling period for host memory, 0.5 to 1000 milliseconds",
    default: "5",
    input: { name: "interval-ms", given: "5" },
  },
  "device-interval": {
    group: "measure",
    value: "MS",
    description: "Sampling period for devices, 0.5 to 1000 milliseconds",
    default: "20",
  },
  "cpu-budget": {
    group: "measure",
    value: "PERCENT|off",
    description: "Maximum CPU time for the sampler, percent of one core",
    details: "The sampling periods widen to stay below it, which the recording mentions.",
    default: "1",
  },
  repeats: {
    group: "judge",
    value: "auto|N",
    description: "Candidate runs: one, and more only to confirm a breach, or exactly this many",
    default: "`auto`",
    input: { name: "repeats" },
  },
  "base-run": {
    group: "judge",
    value: "auto|off|CMD",
    notInSearches: true,
    description:
      "How to re-run the base commit before failing: the merge base in a worktree, not at all, or by a command",
    default: "`auto`",
    input: { name: "base-run" },
  },
  "max-runs": {
    group: "judge",
    value: "N",
    description:
      "Maximum runs per scenario, with those that confirm, of the base, and for the line of a leak; a peak has two more to explain it",
    default: "10",
    input: { name: "max-runs" },
  },
  "max-minutes": {
    group: "judge",
    value: "M",
    description: "Maximum minutes of measuring per scenario",
    details:
      "A run after the first that would exceed it is ended and not judged; a breach is then an unconfirmed fail.",
    input: { name: "max-minutes" },
  },
  timeout: {
    group: "measure",
    first: true,
    value: "S",
    description: "End a run and its whole process tree after this many seconds",
  },
  horizon: {
    group: "judge",
    value: "STEPS|HOURSh",
    description: "Production length at which growth is judged: steps (`1000000`) or hours (`72h`)",
    input: { name: "horizon" },
  },
  budget: {
    group: "judge",
    first: true,
    value: "METRIC=SIZE",
    multiple: true,
    description: `Absolute limit on a peak (${METRIC_NAMES}), for example \`host=2GiB\``,
    input: { name: "budget" },
  },
  "warning-percent": {
    group: "measure",
    value: "PERCENT",
    description: "Alert above this share of a device's memory",
    default: "80",
  },
  "critical-percent": {
    group: "measure",
    value: "PERCENT",
    description: "Critical alert above this share of a device's memory",
    default: "95",
  },
  probe: {
    group: "measure",
    value: "auto|off|require",
    description: "Observe the command's processes from inside, too",
    details:
      "`require` fails a run (`PROBE_NOT_ATTACHED`) where that is impossible ([measuring](measuring.md#inside-the-process)).",
    default: "`auto`",
    input: { name: "probe", given: "auto" },
  },
  isolation: {
    group: "measure",
    value: "auto|off|require",
    description: "Run the command in namespaces of its own, which it cannot leave, where the machine allows it",
    details: "`require` refuses to measure without (`ISOLATION_UNAVAILABLE`) ([security](security.md#the-wall)).",
    default: "`off`",
    input: { name: "isolation", default: "`auto`", given: "auto" },
  },
  attribute: {
    group: "measure",
    value: "auto|off|always",
    description:
      "Run once more after a breach to find the source lines that grow or hold more, never, or after every verdict",
    details: "See [attribution](attribution.md).",
    default: "`auto`",
    input: { name: "attribute", given: "auto" },
  },
  vary: {
    group: "judge",
    value: "NAME=V1,V2,…",
    notInSearches: true,
    description: "Run each scenario once for every value, as `NAME@NAME=V`, and fit how the peak grows with it",
    details:
      "`NAME` is an environment variable, or `{NAME}` in the command. A fit needs five numbers ([scaling](scaling.md)).",
  },
  fits: {
    group: "judge",
    value: "NAME=SIZE",
    multiple: true,
    notInSearches: true,
    description: "With `--vary`: predict the largest value that fits this memory, for example `80GB=85.0e9`",
  },
  unjudged: {
    group: "judge",
    value: "fail|warn|pass",
    notRepeated: true,
    notInSearches: true,
    description: "Exit status for an unjudged verdict, which means that nothing comparable was found",
    default: "`fail`",
    input: { name: "unjudged", default: "`warn`" },
  },
} as const satisfies Readonly<Record<string, RunOption>>;

export type RunOptionName = keyof typeof RUN_OPTIONS;

export const RUN_OPTION_ENTRIES = Object.entries(RUN_OPTIONS) as readonly (readonly [RunOptionName, RunOption])[];

type Repeatable = {
  [Name in RunOptionName]: (typeof RUN_OPTIONS)[Name] extends { readonly multiple: true } ? Name : never;
}[RunOptionName];

/** Values of the options as strings, the same for the command line and the Action; undefined = not given. */
export type GateOptions = {
  readonly [Name in RunOptionName]?: (Name extends Repeatable ? readonly string[] : string) | undefined;
};

/** Defaults of the contract; the sampler's rates are 200 Hz for the host and 50 Hz for devices. */
export const DEFAULTS = {
  scenario: "default",
  /** Where the command line looks. */
  baseline: "file:baselines",
  bundle: "stormlog-bundle",
  recording: "stormlog-recording",
  merged: "stormlog-merged",
  demo: "stormlog-demo",
  bisect: "stormlog-bisect",
  culprit: "stormlog-culprit",
  intervalMs: 5,
  deviceIntervalMs: 20,
  cpuBudgetPercent: 1,
  maxRuns: 10,
  warningPercent: 80,
  criticalPercent: 95,
} as const;
