import {
  DEFAULTS,
  RUN_OPTION_ENTRIES,
  RUN_OPTIONS,
  type RunOption,
  type RunOptionName,
} from "../../config/run-options.ts";
import { EXPORT_FORMATS } from "../../inputs/export-format.ts";
import { type CommandSpec, FIRST_GROUP, type OptionSpec } from "../console/command.ts";
import { DEVICES, LAB_DIRECTORY, SCALE_DIRECTORY, SCALES } from "../lab/options.ts";
import type { BaselineAction } from "./baseline.ts";
import type { LabAction } from "./lab.ts";

const flag = (description: string): OptionSpec => ({ type: "boolean", description });
const text = (description: string, valueHint: string): OptionSpec => ({ type: "string", description, valueHint });

const GROUP_TITLES = { measure: "HOW IT IS MEASURED", judge: "HOW IT IS JUDGED" } as const;

/** An option of `run` as the command line parses and explains it. */
function runOption(name: RunOptionName): OptionSpec {
  const option: RunOption = RUN_OPTIONS[name];
  const standard = option.default === undefined ? "" : ` (default ${option.default})`;
  const description = `${option.description}${standard}${option.multiple ? "; repeatable" : ""}`.replaceAll("`", "");
  const group = option.first ? FIRST_GROUP : GROUP_TITLES[option.group];
  return { ...text(description, option.value), group, ...(option.multiple ? { multiple: true } : {}) };
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
    output: text(`Directory for the state and the evidence of each step (default ${DEFAULTS[name]})`, "DIR"),
    resume: flag("Continue the search in this directory"),
    "in-action": flag("Allow the search in a workflow, where it takes many runs"),
    ...runOptions(({ notInSearches }) => !notInSearches),
  };
}

/** Every command by name, in the order of the overview. `programs.ts` has what they run. */
const SPECS = {
  demo: {
    summary: "Show a clean change, a leak and its fix on this machine",
    description:
      "Show on this machine that a clean change passes, a leak fails with its growth named, and its fix passes",
    positionals: {},
    example: "stormlog-gate demo",
    exits: ["pass", "error", "interrupted"],
    options: {},
  },
  init: {
    summary: "Write a commented stormlog-gate.yml and the workflows",
    description: "Write a commented stormlog-gate.yml and the workflows, and let git ignore the evidence",
    positionals: {},
    example: "stormlog-gate init --runner self-hosted,gpu --visibility private",
    exits: ["pass", "error"],
    options: {
      force: flag("Overwrite files that exist"),
      runner: text("Labels of the runner that measures, as in self-hosted,gpu", "LABELS"),
      visibility: text("Whether the repository is public or private", "WHO"),
    },
  },
  doctor: {
    summary: "What can be measured on this machine, and why the rest cannot",
    description: "Show what can be measured on this machine, and why the rest cannot",
    positionals: {},
    example: "stormlog-gate doctor --output diagnosis",
    exits: ["pass", "error"],
    options: { output: text("Also write a Stormlog diagnose directory", "DIR") },
  },
  record: {
    summary: "Measure one run, leave a recording",
    description: "Measure one run and write its run directory; under a launcher of ranks, one directory per rank",
    positionals: {},
    example: "stormlog-gate record --output out -- python train.py --steps 200",
    exits: ["pass", "error", "invalidInput", "interrupted"],
    takesCommand: true,
    options: {
      ...runOptions(({ group }) => group === "measure"),
      output: text(
        `Run directory to create, or the directory above one for each rank or node (default ${DEFAULTS.recording})`,
        "DIR",
      ),
    },
  },
  run: {
    summary: "Measure, judge, leave a bundle: the gate",
    description: "Measure a command or the scenarios of the config file, judge, leave a bundle",
    positionals: {},
    example: "stormlog-gate run --budget host=2GiB -- python train.py --steps 200",
    exits: ["pass", "error", "gateFailed", "invalidInput", "unjudged", "interrupted"],
    takesCommand: true,
    options: runOptions(),
  },
  analyze: {
    summary: "Features, class and findings of recordings or telemetry",
    description: "Features, drift class and findings of recordings, bundles, Stormlog events, CSV or nvidia-smi logs",
    positionals: { "FILE…": "Recordings, bundles or telemetry files; several are shards of one run, unless --batch" },
    example: "stormlog-gate analyze stormlog-recording",
    exits: ["pass", "error", "findings", "invalidInput"],
    options: {
      batch: flag("One JSON document per input, one line each"),
      horizon: text("Production length at which growth is judged", "STEPS|HOURSh"),
      "exit-code": flag("Exit 3 when there are findings of warning or worse"),
    },
  },
  judge: {
    summary: "The verdict engine alone, on measurement files",
    description: "The verdict engine alone: a candidate's measurements against a baseline's",
    positionals: {},
    example: "stormlog-gate judge --baseline base/measurements.json --candidate stormlog-bundle --exit-code",
    exits: ["pass", "error", "findings", "gateFailed", "invalidInput", "unjudged"],
    options: {
      baseline: text("Measurements, baseline record or bundle", "B"),
      candidate: text("Measurements, bundle or recording", "C"),
      anchor: text("Measurements of the last release, against slow creep", "FILE"),
      budget: runOption("budget"),
      horizon: runOption("horizon"),
      unjudged: runOption("unjudged"),
      "base-run": text("Whether the base commit can be re-run: auto or off", "auto|off"),
      "exit-code": flag("Exit with the verdict's status"),
    },
  },
  compare: {
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
      "exit-code": flag("Exit with the verdict's status"),
    },
  },
  baseline: {
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
      baseline: { ...text("The store: file:DIR or ref:NAME (default file:baselines)", "SPEC"), multiple: true },
      runs: text("Runs per refresh (default 5)", "N"),
      composition: flag("Run once more after a refresh, and store what the peak consists of"),
      reason: text("Why a new level is accepted", "TEXT"),
      vary: runOption("vary"),
    },
  },
  history: {
    summary: "Peak and growth by commit, and since when they changed",
    description: "Peak and growth of each scenario by commit, with the commits at which they changed",
    positionals: {
      "[SOURCE]": "file:DIR, ref:NAME or a directory of bundles (default: the store of `baseline`)",
    },
    example: "stormlog-gate history ref:refs/stormlog/baselines --html history.html",
    exits: ["pass", "error", "invalidInput"],
    options: { html: text("Also write a page with a chart of each scenario", "FILE") },
  },
  merge: {
    summary: "Bundles of matrix legs, nodes or ranks as one verdict",
    description: "Bundles of matrix legs, or recordings of ranks and nodes, as one bundle with one verdict",
    positionals: { "DIR…": "Bundles of the legs, or recordings of the ranks or nodes" },
    example: "stormlog-gate merge legs/a legs/b --expect 2 --bundle merged",
    exits: ["pass", "error", "gateFailed", "invalidInput", "unjudged"],
    options: {
      bundle: text(`The merged bundle (default ${DEFAULTS.merged})`, "OUT"),
      expect: text("Number of legs, or their names; a missing one is never a pass", "N|NAMES"),
      baseline: { ...runOption("baseline"), description: "Judge what was merged by this baseline; repeatable" },
      horizon: runOption("horizon"),
      budget: runOption("budget"),
      unjudged: runOption("unjudged"),
      verify: flag("Compare the stored features of every rank with its samples"),
    },
  },
  bisect: {
    summary: "The commit that turned the verdict red",
    description: "Find the commit that turned the verdict of a command red, in checkouts of its own",
    positionals: {},
    example: "stormlog-gate bisect --good v1.4 --bad main --setup ./build.sh -- node serve.js --requests 500",
    ...SEARCH_EXITS,
    takesCommand: true,
    withoutConfig: true,
    options: {
      good: text("Revision whose verdict is green", "REV"),
      bad: text("Later revision whose verdict is red", "REV"),
      setup: text("Shell command that builds a checkout; commits where it fails are skipped", "CMD"),
      ...searchOptions("bisect"),
    },
  },
  culprit: {
    summary: "The package of a lock file that turned the verdict red",
    description: "Find the package between two lock files that turned the verdict of a command red",
    positionals: {},
    example: "stormlog-gate culprit --good old.txt --bad requirements.txt -- python serve.py --requests 500",
    ...SEARCH_EXITS,
    takesCommand: true,
    withoutConfig: true,
    options: {
      good: text("Lock file whose verdict is green", "LOCK"),
      bad: text("Lock file whose verdict is red", "LOCK"),
      tool: text("Installer: pip (default for requirements) or uv, npm for package-lock.json", "NAME"),
      ...searchOptions("culprit"),
    },
  },
  snapshot: {
    summary: "PyTorch memory snapshots by source line, and which lines grow",
    description: "Live memory of PyTorch snapshots by source line, and the lines that grow over several of them",
    positionals: { "FILE…": "Memory snapshots of PyTorch, in the order they were taken" },
    example: "stormlog-gate snapshot step-100.pickle step-200.pickle",
    exits: ["pass", "error", "findings", "invalidInput"],
    options: {
      root: text("Directory that source files are named from (default: here)", "DIR"),
      diff: flag("Compare the peaks of two snapshots by line"),
      "exit-code": flag("Exit 3 when a line grows, or with --diff when a peak is higher"),
    },
  },
  show: {
    summary: "Print the report of a bundle",
    description: "Print the report of a bundle",
    positionals: { "[BUNDLE]": `The bundle, or the directory of --stream (default ${DEFAULTS.bundle})` },
    example: "stormlog-gate show stormlog-bundle",
    exits: ["pass", "error", "gateFailed", "invalidInput", "unjudged"],
    options: {
      processes: flag("Print what each process held and gained"),
      "exit-code": flag("Exit with the status of the bundle's gate"),
    },
  },
  export: {
    summary: "Write a bundle in another format",
    description: "Write a bundle in another format",
    positionals: { "[BUNDLE]": `The bundle (default ${DEFAULTS.bundle})` },
    example: "stormlog-gate export stormlog-bundle --format junit --output gate.xml",
    exits: ["pass", "error", "invalidInput"],
    options: {
      format: text("What to write", EXPORT_FORMATS.join("|")),
      output: text("File to write (default stdout)", "FILE"),
    },
  },
  lab: {
    summary: "The leak lab: leaky against fixed",
    description:
      "The leak lab: list its patterns, judge leaky against fixed, report across backends, search the size at which a leak shows",
    positionals: {
      ACTION: "One of the actions below",
      "[PATTERN|FOLDER]…":
        "list and run: patterns (without any: all); scale: one pattern; report: directories of rounds",
    },
    actions: {
      list: "The patterns",
      run: "Judge the leaky state of patterns against their fixed one",
      report: "Rounds side by side",
      scale: "Search the size from which on the leak of a pattern is detected",
    } satisfies Readonly<Record<LabAction, string>>,
    example: "stormlog-gate lab run node_cache --runs 5",
    exits: ["pass", "error", "invalidInput", "interrupted"],
    options: {
      device: text("Device of the patterns (default auto)", DEVICES.join("|")),
      scale: text("Size of a run (default tiny)", SCALES.join("|")),
      steps: text("Steps of a run (default: the scale's)", "N"),
      batch: text("Images in a batch (scale; default: the scale's)", "N"),
      from: text("Fewest steps of a search", "N"),
      to: text("Most steps of a search (default 64 times the scale's)", "N"),
      python: text("Python with the frameworks (default python3)", "PROGRAM"),
      runs: text("Runs of the fixed state for the baseline (default 5)", "N"),
      baseline: { ...text("Judge by a stored baseline instead of measuring one", "SPEC"), multiple: true },
      output: text(
        `Directory of the results (run: ${LAB_DIRECTORY}, scale: ${SCALE_DIRECTORY}/PATTERN) or of the report`,
        "DIR",
      ),
    },
  },
} satisfies Readonly<Record<string, Omit<CommandSpec, "name">>>;

export type CommandName = keyof typeof SPECS;
export const COMMANDS: Readonly<Record<string, CommandSpec>> = Object.fromEntries(
  Object.entries(SPECS).map(([name, spec]) => [name, { name, ...spec }]),
);
