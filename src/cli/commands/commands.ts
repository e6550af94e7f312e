import {
  DEFAULTS,
  RUN_OPTION_ENTRIES,
  RUN_OPTIONS,
  type RunOption,
  type RunOptionName,
} from "../../config/run-options.ts";
import { EXPORT_FORMATS } from "../../inputs/export-format.ts";
import type { CommandSpec, OptionSpec } from "../console/command.ts";
import { AXES, DEVICES, LAB_DIRECTORY, SCALE_DIRECTORY, SCALES } from "../lab/options.ts";
import type { BaselineAction } from "./baseline.ts";
import type { LabAction } from "./lab.ts";

/** An option of `run` as the command line parses and explains it. */
function runOption(name: RunOptionName): OptionSpec {
  const option: RunOption = RUN_OPTIONS[name];
  const standard = option.default === undefined ? "" : ` (default ${option.default})`;
  return {
    type: "string",
    description: `${option.description}${standard}${option.multiple ? "; repeatable" : ""}`.replaceAll("`", ""),
    valueHint: option.value,
    ...(option.multiple ? { multiple: true } : {}),
  };
}

/** The options of `run` that a command has, or all of them. */
function runOptions(isChosen: (option: RunOption) => boolean = () => true): Readonly<Record<string, OptionSpec>> {
  const chosen = RUN_OPTION_ENTRIES.filter(([, option]) => isChosen(option));
  return Object.fromEntries(chosen.map(([name]) => [name, runOption(name)]));
}

/** What searches end with. */
const SEARCH_EXITS = {
  exits: ["pass", "error", "invalidInput", "unjudged", "interrupted"],
  exitMeanings: {
    pass: "found",
    error: "error: a good or bad state cannot be built or run, or the search failed",
    unjudged: "not reproducible: good is red, bad is not, or the verdicts contradict each other",
    interrupted: "interrupted; --resume continues",
  },
} as const satisfies Pick<CommandSpec, "exits" | "exitMeanings">;

/** Options of both searches. */
function searchOptions(name: "bisect" | "culprit"): Readonly<Record<string, OptionSpec>> {
  return {
    output: {
      type: "string",
      description: `Directory for the state and the evidence of each step (default ${DEFAULTS[name]})`,
      valueHint: "DIR",
    },
    resume: { type: "boolean", description: "Continue the search in this directory" },
    "in-action": { type: "boolean", description: "Allow the search in a workflow, where it takes many runs" },
    ...runOptions(({ notInSearches }) => !notInSearches),
  };
}

/** Every command by name, in the order of the overview. `programs.ts` has what they run. */
const SPECS = {
  demo: {
    name: "demo",
    summary: "Show a clean change, a leak and its fix on this machine",
    description:
      "Show on this machine that a clean change passes, a leak fails with its growth named, and its fix passes",
    positionals: {},
    example: "stormlog-gate demo",
    exits: ["pass", "error", "interrupted"],
    options: {},
  },
  init: {
    name: "init",
    summary: "Write a commented stormlog-gate.yml and the workflows",
    description: "Write a commented stormlog-gate.yml and the workflows, and let git ignore the evidence",
    positionals: {},
    example: "stormlog-gate init --runner self-hosted,gpu --visibility private",
    exits: ["pass", "error"],
    options: {
      force: { type: "boolean", description: "Overwrite files that exist" },
      runner: {
        type: "string",
        description: "Labels of the runner that measures, as in self-hosted,gpu",
        valueHint: "LABELS",
      },
      visibility: { type: "string", description: "Whether the repository is public or private", valueHint: "WHO" },
    },
  },
  doctor: {
    name: "doctor",
    summary: "What can be measured on this machine, and why the rest cannot",
    description: "Show what can be measured on this machine, and why the rest cannot",
    positionals: {},
    example: "stormlog-gate doctor --output diagnosis",
    exits: ["pass", "error"],
    options: { output: { type: "string", description: "Also write a Stormlog diagnose directory", valueHint: "DIR" } },
  },
  record: {
    name: "record",
    summary: "Measure one run, leave a recording",
    description: "Measure one run and write its run directory; under a launcher of ranks, one directory per rank",
    positionals: {},
    example: "stormlog-gate record --output out -- python train.py --steps 200",
    exits: ["pass", "error", "invalidInput", "interrupted"],
    takesCommand: true,
    options: {
      ...runOptions(({ group }) => group === "measure"),
      output: {
        type: "string",
        description: `Run directory to create, or the directory above one for each rank or node (default ${DEFAULTS.recording})`,
        valueHint: "DIR",
      },
    },
  },
  run: {
    name: "run",
    summary: "Measure, judge, leave a bundle: the gate",
    description: "Measure a command or the scenarios of the config file, judge, leave a bundle",
    positionals: {},
    example: "stormlog-gate run --budget host=2GiB -- python train.py --steps 200",
    exits: ["pass", "error", "gateFailed", "invalidInput", "unjudged", "interrupted"],
    takesCommand: true,
    options: runOptions(),
  },
  analyze: {
    name: "analyze",
    summary: "Features, class and findings of recordings or telemetry",
    description: "Features, drift class and findings of recordings, bundles, Stormlog events, CSV or nvidia-smi logs",
    positionals: { "FILE…": "Recordings, bundles or telemetry files; several are shards of one run, unless --batch" },
    example: "stormlog-gate analyze stormlog-recording",
    exits: ["pass", "error", "findings", "invalidInput"],
    options: {
      batch: { type: "boolean", description: "One JSON document per input, one line each" },
      horizon: {
        type: "string",
        description: "Production length at which growth is judged",
        valueHint: "STEPS|HOURSh",
      },
      "exit-code": { type: "boolean", description: "Exit 3 when there are findings of warning or worse" },
    },
  },
  judge: {
    name: "judge",
    summary: "The verdict engine alone, on measurement files",
    description: "The verdict engine alone: a candidate's measurements against a baseline's",
    positionals: {},
    example: "stormlog-gate judge --baseline base/measurements.json --candidate stormlog-bundle --exit-code",
    exits: ["pass", "error", "findings", "gateFailed", "invalidInput", "unjudged"],
    options: {
      baseline: { type: "string", description: "Measurements, baseline record or bundle", valueHint: "B" },
      candidate: { type: "string", description: "Measurements, bundle or recording", valueHint: "C" },
      anchor: {
        type: "string",
        description: "Measurements of the last release, against slow creep",
        valueHint: "FILE",
      },
      budget: runOption("budget"),
      horizon: runOption("horizon"),
      unjudged: runOption("unjudged"),
      "base-run": {
        type: "string",
        description: "Whether the base commit can be re-run: auto or off",
        valueHint: "auto|off",
      },
      "exit-code": { type: "boolean", description: "Exit with the verdict's status" },
    },
  },
  compare: {
    name: "compare",
    summary: "Two recordings or bundles side by side",
    description:
      "Two recordings, bundles, baselines, measurement files or snapshots of PyTorch side by side; A is the reference",
    positionals: {
      A: "The reference: a recording, bundle, baseline record, measurement file or snapshot",
      B: "What is compared with it",
    },
    example: "stormlog-gate compare before/stormlog-bundle stormlog-bundle",
    exits: ["pass", "error", "findings", "gateFailed", "invalidInput", "unjudged"],
    options: {
      horizon: runOption("horizon"),
      unjudged: runOption("unjudged"),
      "exit-code": { type: "boolean", description: "Exit with the verdict's status" },
    },
  },
  baseline: {
    name: "baseline",
    summary: "Refresh, accept, list, show or verify baselines",
    description: "The baseline store: refresh, accept, list, show, verify",
    positionals: {
      ACTION: "One of the actions below",
      "[ITEM]…": `accept: bundles (default ${DEFAULTS.bundle}); list and show: one record or scenario`,
    },
    actions: {
      refresh: "Measure the command after `--`, or the scenarios of the config file, and add the runs",
      accept: "Make the runs of bundles, or of one scenario of them, the new accepted level",
      list: "The records of the store",
      show: "The records with environment and runs",
      verify: "Check every record; 5 when one has a problem",
    } satisfies Readonly<Record<BaselineAction, string>>,
    example: "stormlog-gate baseline refresh --runs 5 -- python train.py --steps 200",
    exits: ["pass", "error", "invalidInput", "interrupted"],
    takesCommand: true,
    options: {
      ...runOptions(({ group }) => group === "measure"),
      baseline: {
        type: "string",
        multiple: true,
        description: "The store: file:DIR or ref:NAME (default file:baselines)",
        valueHint: "SPEC",
      },
      runs: {
        type: "string",
        description: "Runs per refresh, or runs of an accepted level (default 5)",
        valueHint: "N",
      },
      composition: {
        type: "boolean",
        description: "Run once more after a refresh, and store what the peak consists of",
      },
      reason: { type: "string", description: "Why a new level is accepted", valueHint: "TEXT" },
      vary: runOption("vary"),
    },
  },
  merge: {
    name: "merge",
    summary: "Bundles of matrix legs, nodes or ranks as one verdict",
    description: "Bundles of matrix legs, or recordings of ranks and nodes, as one bundle with one verdict",
    positionals: { "DIR…": "Bundles of the legs, or recordings of the ranks or nodes" },
    example: "stormlog-gate merge legs/a legs/b --expect 2 --bundle merged",
    exits: ["pass", "error", "gateFailed", "invalidInput", "unjudged"],
    options: {
      bundle: { type: "string", description: `The merged bundle (default ${DEFAULTS.merged})`, valueHint: "OUT" },
      expect: {
        type: "string",
        description: "Number of legs, or their names; a missing one is never a pass",
        valueHint: "N|NAMES",
      },
      baseline: { ...runOption("baseline"), description: "Judge what was merged by this baseline; repeatable" },
      horizon: runOption("horizon"),
      budget: runOption("budget"),
      unjudged: runOption("unjudged"),
      verify: { type: "boolean", description: "Compare the stored features of every rank with its samples" },
    },
  },
  bisect: {
    name: "bisect",
    summary: "The commit that turned the verdict red",
    description: "Find the commit that turned the verdict of a command red, in checkouts of its own",
    positionals: {},
    example: "stormlog-gate bisect --good v1.4 --bad main --setup ./build.sh -- node serve.js --requests 500",
    ...SEARCH_EXITS,
    takesCommand: true,
    withoutConfig: true,
    options: {
      good: { type: "string", description: "Revision whose verdict is green", valueHint: "REV" },
      bad: { type: "string", description: "Later revision whose verdict is red", valueHint: "REV" },
      setup: {
        type: "string",
        description: "Shell command that builds a checkout; commits where it fails are skipped",
        valueHint: "CMD",
      },
      ...searchOptions("bisect"),
    },
  },
  culprit: {
    name: "culprit",
    summary: "The package of a lock file that turned the verdict red",
    description: "Find the package between two lock files that turned the verdict of a command red",
    positionals: {},
    example: "stormlog-gate culprit --good old.txt --bad requirements.txt -- python serve.py --requests 500",
    ...SEARCH_EXITS,
    takesCommand: true,
    withoutConfig: true,
    options: {
      good: { type: "string", description: "Lock file whose verdict is green", valueHint: "LOCK" },
      bad: { type: "string", description: "Lock file whose verdict is red", valueHint: "LOCK" },
      tool: {
        type: "string",
        description: "Installer: pip (default for requirements) or uv, npm for package-lock.json",
        valueHint: "NAME",
      },
      ...searchOptions("culprit"),
    },
  },
  snapshot: {
    name: "snapshot",
    summary: "PyTorch memory snapshots by source line, and which lines grow",
    description: "Live memory of PyTorch snapshots by source line, and the lines that grow over several of them",
    positionals: { "FILE…": "Memory snapshots of PyTorch, in the order they were taken" },
    example: "stormlog-gate snapshot step-100.pickle step-200.pickle",
    exits: ["pass", "error", "findings", "invalidInput"],
    options: {
      root: {
        type: "string",
        description: "Directory that source files are named from (default: here)",
        valueHint: "DIR",
      },
      diff: { type: "boolean", description: "Compare the peaks of two snapshots by line" },
      output: {
        type: "string",
        description: "With --diff, write it into a file as well: .md, .svg or .png (and a dark .svg or .png)",
        valueHint: "FILE",
      },
      "exit-code": { type: "boolean", description: "Exit 3 when a line grows, or with --diff when a peak is higher" },
    },
  },
  show: {
    name: "show",
    summary: "Print the report of a bundle",
    description: "Print the report of a bundle",
    positionals: { "[BUNDLE]": `The bundle (default ${DEFAULTS.bundle})` },
    example: "stormlog-gate show stormlog-bundle",
    exits: ["pass", "error", "gateFailed", "invalidInput", "unjudged"],
    options: { "exit-code": { type: "boolean", description: "Exit with the status of the bundle's gate" } },
  },
  export: {
    name: "export",
    summary: "Write a bundle in another format",
    description: "Write a bundle in another format",
    positionals: { "[BUNDLE]": `The bundle (default ${DEFAULTS.bundle})` },
    example: "stormlog-gate export stormlog-bundle --format junit --output gate.xml",
    exits: ["pass", "error", "invalidInput"],
    options: {
      format: { type: "string", description: "What to write", valueHint: EXPORT_FORMATS.join("|") },
      output: { type: "string", description: "File to write (default stdout)", valueHint: "FILE" },
    },
  },
  lab: {
    name: "lab",
    summary: "The leak lab: leaky against fixed",
    description:
      "The leak lab: list its patterns, judge leaky against fixed, report across backends, search the size at which a leak shows",
    positionals: {
      ACTION: "One of the actions below",
      "[PATTERN|FOLDER]…":
        "list and run: patterns (without any: all); scale: one pattern; report: directories of rounds or recordings",
    },
    actions: {
      list: "The patterns",
      run: "Judge the leaky state of patterns against their fixed one",
      report: "Rounds or recordings side by side",
      scale: "Search the size from which on the leak of a pattern is detected",
    } satisfies Readonly<Record<LabAction, string>>,
    example: "stormlog-gate lab run node_cache --runs 5",
    exits: ["pass", "error", "invalidInput", "interrupted"],
    options: {
      device: { type: "string", description: "Device of the patterns (default auto)", valueHint: DEVICES.join("|") },
      scale: { type: "string", description: "Size of a run (default tiny)", valueHint: SCALES.join("|") },
      steps: { type: "string", description: "Steps of a run (default: the scale's)", valueHint: "N" },
      batch: { type: "string", description: "Images in a batch (scale; default: the scale's)", valueHint: "N" },
      by: {
        type: "string",
        description: "What a search varies (scale; default steps)",
        valueHint: AXES.join("|"),
      },
      from: { type: "string", description: "Smallest size of a search", valueHint: "N" },
      to: { type: "string", description: "Largest size of a search (default 64 times the scale's)", valueHint: "N" },
      python: { type: "string", description: "Python with the frameworks (default python3)", valueHint: "PROGRAM" },
      runs: { type: "string", description: "Runs of the fixed state for the baseline (default 5)", valueHint: "N" },
      baseline: {
        type: "string",
        multiple: true,
        description: "Judge by a stored baseline instead of measuring one",
        valueHint: "SPEC",
      },
      output: {
        type: "string",
        description: `Directory of the results (run: ${LAB_DIRECTORY}, scale: ${SCALE_DIRECTORY}/PATTERN) or of the report`,
        valueHint: "DIR",
      },
    },
  },
} satisfies Readonly<Record<string, CommandSpec>>;

export type CommandName = keyof typeof SPECS;
export const COMMANDS: Readonly<Record<string, CommandSpec>> = SPECS;
