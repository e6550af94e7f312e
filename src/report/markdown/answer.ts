import { cutText, plural } from "../../core/text.ts";
import { formatSize, isCounted, metricLabel } from "../../telemetry/recording/metrics.ts";
import { type Cause, causesOf, openFindings } from "../headline/causes.ts";
import {
  fixOf,
  growthShare,
  heldText,
  type LineAnswer,
  moreText,
  namedLine,
  oneTimeText,
  ownLockText,
  peakLines,
  unattributed,
} from "../headline/line-answer.ts";
import { higherParts, higherText } from "../headline/peak-answer.ts";
import { answerSentence, certainty, leakAmount, missingRunsText, sideNotes } from "../headline/sentence.ts";
import { rowCells, rowName, shownRows, withValue } from "../headline/shown-rows.ts";
import { decisiveRun, growingProcess } from "../model/decisive-run.ts";
import type { GateReport, ScenarioReport, Verdict } from "../model/gate-report.ts";
import { nextSteps } from "../wording/next-steps.ts";
import { reproduceCommand } from "../wording/reproduce.ts";
import type { SourceLocation } from "../wording/source-line.ts";
import { capital, changedText, findingName } from "../wording/wording.ts";
import { codeBlock, linkTarget, md, table } from "./markdown-text.ts";

export const SIGN: Readonly<Record<Verdict, string>> = {
  pass: "✅",
  warn: "⚠️",
  fail: "❌",
  unjudged: "❔",
  error: "💥",
};

/** Text of this form cannot act, and nothing in it closes a span of code. */
function isPlain(text: string, most: number): boolean {
  return /^[\w./:@=-]+$/.test(text) && text.length <= most;
}

/** Outside text as code where it has no character that could act; escaped otherwise. */
function code(text: string, most = 120): string {
  return isPlain(text, most) ? `\`${text}\`` : md(text, most);
}

/** Outside text on one line, in which names between backticks are code. Escaped. */
function withCode(text: string, most = 300): string {
  const line = text.trim().replace(/\s+/g, " ");
  const cut = cutText(line, most);
  // Anything but a name joins the text around it first: two parts that are escaped apart could act together.
  const named = cut.replace(/`([^`]*)`/g, (quoted, inner: string) => (isPlain(inner, 120) ? quoted : inner));
  return named
    .split(/`([^`]+)`/)
    .map((part, index) => (index % 2 === 1 ? code(part) : part.replace(/\S(?:.*\S)?/, (inner) => md(inner, most))))
    .join("");
}

/** What happened to a scenario, for a heading: "`train` leaks 281 KiB a step". Escaped. */
export function headingText(scenario: ScenarioReport): string {
  const name = code(scenario.scenario, 80);
  switch (scenario.verdict) {
    case "pass":
      return `no regression in ${name}`;
    case "unjudged":
      if (scenario.caused_by !== undefined) return `this change ${scenario.caused_by} ${name}`;
      return scenario.baseline === null && scenario.judgement !== null
        ? `no baseline for ${name} on this machine`
        : `${name} could not be judged`;
    case "error":
      return `${name} could not be measured`;
    case "warn":
    case "fail":
      return breachText(scenario, name);
  }
}

function breachText(scenario: ScenarioReport, name: string): string {
  const [cause] = causesOf(scenario.judgement?.checks ?? []);
  if (cause === undefined) return `${name}: ${scenario.verdict}`;
  return `${name} ${breachVerb(cause, scenario)}${excuse(scenario)}`;
}

/** Why a breach only warns. */
function excuse({ accepted, known_leaks: known }: ScenarioReport): string {
  if (accepted !== undefined) return ", accepted";
  return known === undefined ? "" : ", known";
}

function breachVerb({ kind, decisive }: Cause, { runs }: ScenarioReport): string {
  const found = decisiveRun(runs, decisive);
  const { candidate_bytes: value, threshold_bytes: limit, metric, rank } = withValue(decisive, found?.run ?? null);
  const { kept_bytes: kept } = decisive;
  if (kept !== undefined) return `grows by ${formatSize(metric, kept, "short")} that the C heap keeps`;
  const process = kind === "leak" || kind === "growth" ? growingProcess(found, decisive) : null;
  const where = `${process === null ? "" : ` in ${md(process, 80)}`}${rank > 0 ? ` on rank ${rank}` : ""}`;
  const over = value === null || limit === null || value <= limit ? null : formatSize(metric, value - limit, "short");
  switch (kind) {
    case "leak":
      return `leaks ${leakAmount(decisive, found)}${where}`;
    case "oom":
      return `${md(decisive.reason, 120)}${where}`;
    case "growth":
      return over === null ? `grows${where}` : `grows ${over} more than its limit${where}`;
    case "peak":
      return over === null
        ? `has a higher ${metricLabel(metric)} peak${where}`
        : `peaks ${over} above its limit${where}`;
    case "budget":
      return over === null ? `breaches its budget${where}` : `peaks ${over} above its budget${where}`;
  }
}

/** The page of a line in the measured commit; null where it has none. */
export type LineLink = (place: SourceLocation) => string | null;

/** The first paragraph: what holds the memory, or the sentence; how sure; whether the change did it. Escaped. */
export function leadText(scenario: ScenarioReport, link: LineLink): string {
  const { accepted, verdict, judgement } = scenario;
  const lines = accepted === undefined ? [] : [`Accepted by **${md(accepted.by, 60)}**, so it does not block.`];
  const [cause] = causesOf(judgement?.checks ?? []);
  if (cause === undefined || judgement === null || (verdict !== "fail" && verdict !== "warn")) {
    lines.push(`**${md(answerSentence(scenario), 600)}.**`);
    for (const note of sideNotes(scenario)) lines.push(`${md(capital(note), 300)}.`);
    return lines.join(" ");
  }
  const line = isCounted(cause.decisive.metric) ? null : namedLine(scenario.findings);
  const certain = `${certainty(cause.decisive, judgement, scenario)}${missingRunsText(judgement)}`;
  const sure = certain.replace(/^[,;] /, "");
  const higher = higherParts(scenario.peak);
  if (higher.length > 0) lines.push(`**${unbroken(withCode(higherText(higher, (at) => `\`${at}\``)))}.**`);
  if (line !== null) {
    if (higher.length === 0) lines.push(`**${lineText(line, link)}.**`);
    if (sure !== "") lines.push(`${capital(sure)}.`);
    const change = changedText(line.finding, "pull-request");
    const subject = higher.length === 0 ? "The line" : `Line ${placeText(line, link)}`;
    if (change !== null) lines.push(`${subject} is ${md(change, 200)}.`);
    const locked = ownLockText(scenario, "pull-request");
    if (locked !== null) lines.push(`${md(locked, 400)}.`);
    const others = peakLines(scenario.findings).filter(({ finding }) => finding !== line.finding);
    if (others.length > 0 && higher.length === 0)
      lines.push(`Also ${others.map((other) => lineText(other, link)).join(", ")}.`);
  } else if (cause.kind === "leak") {
    lines.push(`**${capital(sure === "" ? "grows" : sure)}.**`);
  } else if (higher.length > 0) {
    if (sure !== "") lines.push(`${capital(sure)}.`);
  } else {
    lines.push(`**${md(answerSentence(scenario), 600)}.**`);
  }
  const held = heldText(scenario);
  if (held !== null) lines.push(`${unbroken(md(held, 300))}.`);
  for (const note of sideNotes(scenario)) lines.push(`${md(capital(note), 300)}.`);
  const rest = unattributed(scenario.findings);
  if (rest !== null)
    lines.push(`${md(capital(rest.text), 200)}.${rest.next === null ? "" : ` ${withCode(rest.next)}`}`);
  if (scenario.no_line !== undefined) lines.push(`No line: ${withCode(scenario.no_line, 300)}.`);
  return lines.join(" ");
}

/** The line's place as a link. A line whose text was read is in a file that exists. */
function placeText({ location, source, code: text }: LineAnswer, link: LineLink): string {
  const page = source === null || text === null ? null : linkTarget(link(source));
  return page === null ? code(location) : `[${code(location)}](${page})`;
}

function lineText(line: LineAnswer, link: LineLink): string {
  if (line.kind === "one-time") return md(oneTimeText(line), 300);
  const found = line.package === null ? "" : `, ${md(line.package, 160)}`;
  if (line.kind === "peak") return `${placeText(line, link)} holds ${unbroken(md(moreText(line), 160))}${found}`;
  const share = growthShare(line) ?? "the growth";
  const kept = line.keptBy === null ? "" : ` in ${withCode(line.keptBy, 120)}`;
  return `${placeText(line, link)} holds ${share}${kept}${found}`;
}

/** The deciding rows, at most three; null without any. */
export function rowsText(scenario: ScenarioReport): string | null {
  const checks = scenario.judgement?.checks ?? [];
  const rows = shownRows(scenario).filter(({ aspect }) => aspect !== "oom");
  if (rows.length === 0) return null;
  return table(
    ["", "This change", "Baseline", "Limit"],
    ["l", "r", "r", "r"],
    rows.map((check) => [
      `${SIGN[check.verdict]} ${md(rowName(check, checks), 80)}`,
      ...Object.values(rowCells(check)).map(unbroken),
    ]),
  );
}

/** A size that does not wrap between its number and its unit. */
export function unbroken(cell: string): string {
  return cell.replace(/(\d) (?=[KMGTP]?i?B)/g, "$1&nbsp;");
}

/** Critical findings that the cause does not explain, a line each; null without any. */
export function openText(scenario: ScenarioReport): string | null {
  const open = openFindings(scenario);
  if (open.length === 0) return null;
  return open
    .map((finding) => {
      const hint = finding.remediation[0] === undefined ? "" : ` ${md(finding.remediation[0], 200)}`;
      return `🔴 **${md(capital(findingName(finding)), 60)}**: ${md(finding.description, 300)}${hint}`;
    })
    .join("\n\n");
}

/** The fix, and how to accept or continue, in one paragraph; null when there is nothing to do. */
export function nextText(scenario: ScenarioReport): string | null {
  const fix = fixOf(scenario);
  const parts = fix === null ? [] : [`**Fix:** ${withCode(fix)}`];
  for (const { name, text, command } of nextSteps(scenario, "pull-request")) {
    const label = name === "Intended" ? "**Intended?**" : `**${name}:**`;
    parts.push(`${label} ${md(capital(text), 400)}${command === undefined ? "" : ` \`${command}\``}`);
  }
  return parts.length === 0 ? null : parts.join(" ");
}

/** The command that shows a failure again elsewhere, and what differs there; null where the report lacks its start. */
export function reproduceText(report: GateReport, scenario: ScenarioReport): string | null {
  const found = scenario.verdict === "fail" ? reproduceCommand(report, scenario) : null;
  if (found === null) return null;
  const differs = found.differs === null ? "" : `\n\n<sub>${capital(md(found.differs, 200))}</sub>`;
  return `**Reproduce:**\n\n${codeBlock(found.command)}${differs}`;
}

/** "2 of 3 scenarios failed", for the title of a report with several. */
export function countsText(scenarios: readonly ScenarioReport[], verdict: Verdict): string {
  const same = scenarios.filter((scenario) => scenario.verdict === verdict).length;
  const all = plural(scenarios.length, "scenario");
  if (verdict === "pass") return `no regression in ${all}`;
  const what = {
    warn: "with a warning",
    fail: "failed",
    unjudged: "could not be judged",
    error: "could not be measured",
  }[verdict];
  return `${same} of ${all} ${what}`;
}
