import { escapeHtml } from "../../core/escape.ts";
import { cutText, oneLine } from "../../core/text.ts";
import { VERDICT_LOOK } from "../drawing/palette.ts";
import { answerSentence } from "../headline/sentence.ts";
import type { GateReport, ScenarioReport, Timeline } from "../model/gate-report.ts";
import { rankSeries } from "../timeline/panel-view.ts";
import { isToken } from "../wording/next-steps.ts";
import { sparkline } from "../wording/sparkline.ts";
import { exitText, failedExit } from "../wording/wording.ts";
import { nextText, openText, rowsText, SIGN } from "./answer.ts";
import type { Part } from "./comment-fit.ts";
import { differencesText } from "./details.ts";
import { codeBlock, linkTarget, md, table, tail } from "./markdown-text.ts";

/** Address (or relative path) of a picture; of two, the dark one is for dark pages. */
export type PictureAddress = string | { readonly light: string; readonly dark: string };

export interface PictureOptions {
  /** The timelines that have a picture, by the scenario's name. */
  readonly pictures?: ReadonlyMap<string, PictureAddress>;
  readonly htmlUrl?: string | null;
}

/** The timeline: its picture where there is one, else a line of block letters. */
export function pictureParts(scenario: ScenarioReport, picture: PictureOptions & { readonly at: number }): Part[] {
  const { timeline } = scenario;
  if (timeline === null) return [];
  const { at } = picture;
  const image = imageText(timeline, picture.pictures?.get(scenario.scenario) ?? null, picture.htmlUrl);
  if (image !== null) return [{ kind: "image", at, text: image }];
  const line = spark(scenario, 48);
  return line === "" ? [] : [{ kind: "image", at, text: `\`${line}\`` }];
}

/** A picture that leads to the page, if there is one; as HTML where dark pages have their own. Null without any. */
function imageText(timeline: Timeline, given: PictureAddress | null, htmlUrl?: string | null): string | null {
  const light = linkTarget(typeof given === "string" ? given : given?.light);
  if (light === null) return null;
  const dark = linkTarget(given === null || typeof given === "string" ? null : given.dark);
  const html = linkTarget(htmlUrl);
  const alt = `Memory over time, ${VERDICT_LOOK[timeline.verdict].label}: ${timeline.subtitle}`;
  if (dark === null) {
    const image = `![${md(alt, 250)}](${light})`;
    return html === null ? image : `[${image}](${html})`;
  }
  const short = cutText(alt, 250);
  const source = `<source media="(prefers-color-scheme: dark)" srcset="${escapeHtml(dark)}">`;
  const picture = `<picture>${source}<img alt="${escapeHtml(oneLine(short))}" src="${escapeHtml(light)}"></picture>`;
  return html === null ? picture : `<a href="${escapeHtml(html)}">${picture}</a>`;
}

/** The series that decides as a line of block letters; empty when nothing was measured. */
export function spark(scenario: ScenarioReport, width: number): string {
  const { timeline } = scenario;
  const [main] = timeline === null ? [] : rankSeries(timeline);
  return main === undefined
    ? ""
    : sparkline(main.bytes, width, { limit: timeline?.threshold_bytes, times: main.time_s });
}

/** All scenarios of a report, one line each. */
export function scenarioTable(scenarios: readonly ScenarioReport[]): string {
  const rows = scenarios.slice(0, 60).map((scenario) => {
    const line = spark(scenario, 16);
    return [
      `${SIGN[scenario.verdict]}&nbsp;${scenario.verdict}`,
      md(scenario.scenario, 80),
      line === "" ? "" : `\`${line}\``,
      md(answerSentence(scenario), 160),
    ];
  });
  const more = scenarios.length - rows.length;
  const text = table(["", "Scenario", "Memory", "Why"], ["l", "l", "l", "l"], rows);
  return more > 0 ? `${text}\n\n…and ${more} more in the bundle.` : text;
}

/** Everything about one scenario that is not folded, except its lead, its error and its picture. */
export function scenarioParts(scenario: ScenarioReport, at: number, repositoryUrl: string | null): Part[] {
  if (scenario.verdict === "pass") return [];
  const texts = [
    { kind: "checks", text: rowsText(scenario) },
    { kind: "findings", text: openText(scenario) },
    {
      kind: "environment",
      text: differencesText(scenario, "identity", "**The environment differs from the baseline's:**"),
    },
    { kind: "accepted", text: acceptedText(scenario, repositoryUrl) },
    { kind: "accepted", text: knownLeaksText(scenario) },
    { kind: "next", text: nextText(scenario) },
  ] as const;
  return texts.flatMap(({ kind, text }) => (text === null ? [] : [{ kind, at, text }]));
}

/** How the command failed and the end of its output; null when it did not fail. */
export function errorText(scenario: ScenarioReport): string | null {
  const { error } = scenario;
  if (error === null) return null;
  const exit = failedExit(scenario);
  const state = exit === null ? "" : ` · ${md(exitText(exit), 200)}`;
  const lines = [`\`${error.code.replace(/[^A-Z0-9_]/g, "")}\`${state}`];
  if (error.output_tail) lines.push(`Last lines of its output:\n\n${codeBlock(tail(error.output_tail, 3000))}`);
  return lines.join("\n\n");
}

/** Who accepted the difference, and why; null where it was not accepted. */
function acceptedText(scenario: ScenarioReport, repositoryUrl: string | null): string | null {
  const { accepted } = scenario;
  if (accepted === undefined) return null;
  const how = { comment: "by comment", label: "by label", trailer: "by commit trailer" }[accepted.via];
  const when = accepted.at_iso === null ? "" : ` on ${md(accepted.at_iso.slice(0, 10), 10)}`;
  const head = accepted.head_sha === null ? "" : `, at commit ${md(accepted.head_sha.slice(0, 10), 10)}`;
  const page = pageWithin(accepted.url, repositoryUrl);
  const where = page === null ? "" : ` ([where](${page}))`;
  const token = accepted.difference.replace(/[^A-Za-z0-9-]/g, "").slice(0, 80);
  return [
    `**Accepted by ${md(accepted.by, 60)}** ${how}${when}${head}${where}:`,
    `> ${md(accepted.reason, 600)}`,
    `The acceptance covers \`${token}\`. A later push that makes the difference larger needs a new one.`,
  ].join("\n\n");
}

/** The known leaks that explain a growth, with their last day and reason; null for none. */
function knownLeaksText({ known_leaks: known = [] }: ScenarioReport): string | null {
  if (known.length === 0) return null;
  return known
    .map(
      ({ package: name, version, at, until, reason }) =>
        `**Known leak** of ${md(name, 80)} ${md(version, 40)} at ${md(at, 300)} until ${md(until, 10)}:\n\n> ${md(reason, 400)}`,
    )
    .join("\n\n");
}

/** An address within the repository; null for any other, which may be outside text. */
function pageWithin(url: string | null, repositoryUrl: string | null): string | null {
  const target = linkTarget(url);
  if (target === null || repositoryUrl === null || !target.startsWith(`${repositoryUrl}/`)) return null;
  return target.includes("/../") ? null : target;
}

/** Whether the policy changes are in force, and how to accept them. */
function inForceText({ policy_accepted: accepted, policy_difference: token }: GateReport): string {
  if (accepted !== undefined) {
    return `The changes are in force: **accepted by ${md(accepted.by, 60)}**, ${md(accepted.reason, 600)}`;
  }
  const command = isToken(token) ? ` with \`/stormlog accept ${token.slice(0, 80)} <reason>\`` : "";
  return `The changes take effect once someone with write permission accepts them${command}:`;
}

/** The pull request's changes to the policy that judges it; null when there are none. */
export function policyText(report: GateReport): string | null {
  const changes = report.policy_changes ?? [];
  if (changes.length === 0) return null;
  const cell = (value: string | null) => (value === null ? "–" : md(value, 160));
  const rows = changes.slice(0, 40).map(({ path, base, head }) => [md(path, 120), cell(base), cell(head)]);
  const out = [
    `**This pull request changes the gate's own settings.** ${inForceText(report)}`,
    table(["Setting", "Base branch", "This change"], ["l", "l", "l"], rows),
  ];
  if (changes.length > rows.length) out.push(`…and ${changes.length - rows.length} more in the bundle.`);
  return out.join("\n\n");
}
