import { formatBytes } from "../../core/units.ts";
import type { NightlyRun } from "../../nightly/nightly-run.ts";
import {
  type NightlyEntry,
  type Promotion,
  type PromotionPolicy,
  promotionText,
  type Trial,
} from "../../nightly/state.ts";
import { md, table } from "../../report/markdown/markdown-text.ts";
import { levelLine, nightsOf, nightTable, sessionOutcomeText } from "./session-text.ts";

export interface SummaryContext {
  readonly nights: readonly NightlyEntry[];
  /** Null when the state could not be read. */
  readonly promotion: Promotion | null;
  readonly policy: PromotionPolicy;
  readonly trials: readonly Trial[];
  readonly notes: readonly string[];
}

/** The outcome of the nightly run for the job's page, above the gate's own summary. */
export function sessionSummary(nightly: NightlyRun, context: SummaryContext): string {
  const rows = nightly.scenarios.map(({ report, sessionOutcome, entry }) => [
    md(report.scenario, 80),
    `**${report.verdict}**`,
    entry.level_bytes === null ? "" : formatBytes(entry.level_bytes),
    md(sessionOutcomeText(sessionOutcome), 300),
  ]);
  const tries = context.trials.map(
    ({ scenario, kind, failed, injected_bytes }) =>
      `- ${md(scenario, 80)}: ${
        kind === "canary"
          ? `the unchanged program was ${failed ? "**reported as a regression**" : "not reported as a regression"}`
          : `an injected ${kind} of ${formatBytes(injected_bytes)} was ${failed ? "found" : "**missed**"}`
      }`,
  );
  return [
    "## Memory baselines: nightly session",
    "",
    table(["scenario", "verdict", "peak", "session"], ["l", "l", "r", "l"], rows),
    "",
    ...(context.promotion === null ? [] : [promotionText(context.promotion, context.policy), ""]),
    ...(tries.length === 0 ? [] : ["### Self-test of the gate", "", ...tries, ""]),
    ...context.notes.map((note) => `- ${md(note, 300)}`),
    ...nightly.scenarios.flatMap(({ report, entry }) => {
      const nights = nightsOf(context.nights, entry);
      if (nights.length < 2) return [];
      return ["", `### ${md(report.scenario, 80)}`, "", `\`${levelLine(nights)}\``, "", nightTable(nights)];
    }),
    "",
  ].join("\n");
}
