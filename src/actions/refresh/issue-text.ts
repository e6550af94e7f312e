import { escapeTerminal } from "../../core/escape.ts";
import { cutText, oneLine } from "../../core/text.ts";
import type { IssueText } from "../../github/repository/issue-upsert.ts";
import type { NightlyScenario } from "../../nightly/nightly-run.ts";
import type { NightlyEntry } from "../../nightly/state.ts";
import { codeBlock, linkTarget, md } from "../../report/markdown/markdown-text.ts";
import { breachLines, levelLine, nightsOf, nightTable, sessionOutcomeText } from "./session-text.ts";

/** What the issue's text needs beside the nightly run. */
export interface IssueContext {
  readonly key: string;
  /** Page of the repository; null where it is not known. */
  readonly repositoryUrl: string;
  readonly runUrl: string | null;
  readonly bundleUrl: string | null;
  /** The store as written in the workflow. */
  readonly baseline: string;
  /** All recorded nights, this one included. */
  readonly nights: readonly NightlyEntry[];
}

const named = (key: string): string => (key === "default" ? "" : ` (${key})`);

/** Whether the issue lists a scenario: held back or above a budget. The release anchor has its own proposal. */
export function isReported({ sessionOutcome, report }: NightlyScenario): boolean {
  if (sessionOutcome.kind === "held") return true;
  if (sessionOutcome.kind === "epoch") return false;
  return (report.judgement?.checks ?? []).some(
    ({ gating, verdict, limit }) => gating && verdict === "fail" && limit !== "anchor",
  );
}

function link(text: string, url: string | null): string {
  const target = linkTarget(url);
  return target === null ? text : `[${text}](${target})`;
}

/** Commits since the newest one that the baseline knows. */
function range({ older, report }: NightlyScenario, repositoryUrl: string): string | null {
  const from = older?.runs.at(-1)?.commit ?? null;
  const to = report.runs[0]?.info.commit ?? null;
  if (from === null || to === null || from === to) return null;
  const url = `${repositoryUrl}/compare/${from}...${to}`;
  return `Commits since the newest approved session: ${link(`${from.slice(0, 10)}…${to.slice(0, 10)}`, url)}.`;
}

function scenarioPart(scenario: NightlyScenario, context: IssueContext): string {
  const nights = nightsOf(context.nights, scenario.entry);
  const spark = levelLine(nights);
  const lines = scenario.report.findings
    .filter(({ description }) => description !== "")
    .slice(0, 3)
    .map(({ description }) => `- ${md(description, 300)}`);
  return [
    `### ${md(scenario.report.scenario, 80)}`,
    "",
    `The nightly session ${md(sessionOutcomeText(scenario.sessionOutcome), 300)}.`,
    "",
    ...breachLines(scenario),
    ...(lines.length === 0 ? [] : ["", "Findings:", "", ...lines]),
    "",
    ...[range(scenario, context.repositoryUrl)].flatMap((text) => (text === null ? [] : [text, ""])),
    ...(spark === "" ? [] : [`Peak per night: \`${spark}\``, ""]),
    nightTable(nights),
  ].join("\n");
}

/** How this level becomes the new normal; without one of these steps the baseline stays as it is. */
function wayOut({ baseline }: IssueContext): readonly string[] {
  const ref = baseline.startsWith("ref:") ? baseline.slice("ref:".length) : null;
  const commands =
    ref === null
      ? ["stormlog-gate baseline accept BUNDLE --baseline file:DIR --reason 'why'", "git add … && git commit"]
      : [
          `git fetch origin +${ref}:${ref}`,
          `stormlog-gate baseline accept BUNDLE --baseline ref:${ref} --reason 'why'`,
          `git push origin ${ref}`,
        ];
  return [
    "### What to do",
    "",
    "- **Not intended:** fix it. The next nightly session within the limits closes this issue and joins the baseline again.",
    "- **Intended:** run the nightly workflow by hand with the input `accept: <reason>`. What it measures becomes the new level. Or accept this",
    "  run's bundle from a clone:",
    "",
    codeBlock(commands.join("\n")),
    "",
    "- **Accepted in its pull request** (`/stormlog accept …`): the first nightly run after the merge opened the new level. This breach is another one,",
    "  or larger.",
    "",
    "Until then the baseline stays at the old level. It does not block pull requests whose base commit can be run (`base-run: auto`): the base commit",
    "is re-run in the same session before a pull request fails.",
  ];
}

/** The issue while something is above its limit. */
export function openIssueText(nightly: readonly NightlyScenario[], context: IssueContext): IssueText {
  const reported = nightly.filter(isReported);
  const scenarios = reported.map(({ report }) => escapeTerminal(oneLine(report.scenario))).join(", ");
  const title = `Memory: ${scenarios} above its limits on the main branch${named(context.key)}`;
  const [first] = reported;
  const commit = first?.report.runs[0]?.info.commit?.slice(0, 10).replace(/[^0-9a-f]/g, "") ?? "";
  return {
    title: cutText(title, 200),
    body: [
      `The nightly memory gate${named(context.key)} found the main branch above its limits${commit === "" ? "" : ` at \`${commit}\``}.`,
      "",
      `${link("Nightly run", context.runUrl)} · ${link("evidence bundle", context.bundleUrl)}`,
      "",
      ...reported.flatMap((scenario) => [scenarioPart(scenario, context), ""]),
      ...wayOut(context),
      "",
      "The nightly run keeps this text up to date and leaves comments alone.",
      "",
    ].join("\n"),
  };
}

/** The issue once everything is within its limits again. */
export function closedIssueText(nightly: readonly NightlyScenario[], context: IssueContext): IssueText {
  const lines = nightly.map(
    ({ report, sessionOutcome }) =>
      `- ${md(report.scenario, 80)}: **${report.verdict}**, ${md(sessionOutcomeText(sessionOutcome), 300)}`,
  );
  return {
    title: `Memory: the main branch is within its limits again${named(context.key)}`,
    body: [
      `Within its limits again in ${link("this nightly run", context.runUrl)}.`,
      "",
      ...lines,
      "",
      ...nightly.flatMap(({ entry }) => ["", nightTable(nightsOf(context.nights, entry))]),
      "",
    ].join("\n"),
  };
}
