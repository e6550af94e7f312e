import path from "node:path";
import { parseBudget, parseHorizon } from "../../config/options.ts";
import { DEFAULTS } from "../../config/run-options.ts";
import { plural } from "../../core/text.ts";
import { type FeatureCounts, mergeBundles } from "../../merge/merge-bundles.ts";
import { parseExpected } from "../../merge/merge-legs.ts";
import { stormlogReport } from "../../report/documents/envelope.ts";
import type { Invocation } from "../console/command.ts";
import { shownPath } from "../console/program.ts";
import { unjudgedOption } from "./judge.ts";
import { printReport } from "./report-commands.ts";

/** "Features of 1,024 recordings: 28 compared with their samples, 4 computed from them"; null without recordings. */
function featuresText({ stored, verified, computed, omitted }: FeatureCounts): string | null {
  const all = stored + verified + computed;
  if (all === 0) return null;
  const count = (number: number) => number.toLocaleString("en-US");
  const more = omitted === 0 ? "" : `; ${count(omitted)} more that decide need --verify`;
  return `Features of ${plural(all, "recording")}: ${count(verified)} compared with their samples, ${count(computed)} computed from them${more}`;
}

export async function merge({ text, lists, flags, positionals, console, argv }: Invocation): Promise<number> {
  const { report, bundleDir, features } = await mergeBundles({
    directories: positionals,
    bundle: path.resolve(text.bundle ?? DEFAULTS.merged),
    expected: text.expect === undefined ? null : parseExpected(text.expect),
    unjudged: unjudgedOption(text.unjudged),
    verification: flags.verify === true ? "all" : "some",
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
  printReport(report, { console, flags }, bundleDir, shownPath(bundleDir));
  const sources = featuresText(features);
  if (sources !== null) console.print(sources);
  console.document(stormlogReport(report));
  return report.exit_code;
}
