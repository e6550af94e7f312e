import path from "node:path";
import { DEFAULTS, parseBudget, parseHorizon } from "../config/options.ts";
import { mergeBundles } from "../merge/merge-bundles.ts";
import { parseExpected } from "../merge/merge-legs.ts";
import { stormlogReport } from "../report/documents/envelope.ts";
import { renderTerminal } from "../report/terminal/terminal.ts";
import type { CommandSpec } from "./command.ts";
import { runOption } from "./gate-options.ts";
import { unjudgedOption } from "./judge.ts";
import { programWords } from "./program.ts";
import { shownPath } from "./shown-path.ts";

export const merge: CommandSpec = {
  name: "merge",
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
  },
  run: async ({ text, lists, flags, positionals, console, argv }) => {
    const { report, bundleDir } = await mergeBundles({
      directories: positionals,
      bundle: path.resolve(text.bundle ?? DEFAULTS.merged),
      expected: text.expect === undefined ? null : parseExpected(text.expect),
      unjudged: unjudgedOption(text.unjudged),
      again: {
        baselines: lists.baseline?.filter((spec) => spec !== "none") ?? null,
        budgets: (lists.budget ?? []).map(parseBudget),
        horizon: text.horizon === undefined ? null : parseHorizon(text.horizon),
        root: process.cwd(),
        env: process.env,
      },
      argv,
      now: () => new Date(),
    });
    const { color, width } = console;
    const verbose = flags.verbose === true;
    console.print(
      renderTerminal(report, { color, width, verbose, bundle: shownPath(bundleDir), program: programWords() }),
    );
    console.document(stormlogReport(report));
    return report.exit_code;
  },
};
