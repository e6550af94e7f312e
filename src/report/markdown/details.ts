import type { Finding } from "../../analysis/series/document.ts";
import { countedNotes, plural } from "../../core/text.ts";
import { formatBytesDelta } from "../../core/units.ts";
import type { FingerprintDifference } from "../../verdict/model/judgement.ts";
import { detectable } from "../headline/detectable.ts";
import { lockText, packageText, percent } from "../headline/line-answer.ts";
import { peakNotes, peakTables } from "../headline/peak-answer.ts";
import type { ScenarioReport } from "../model/gate-report.ts";
import { LEAK_LINE } from "../wording/source-line.ts";
import {
  baselineText,
  capital,
  checkCells,
  checkName,
  differenceText,
  exitText,
  findingName,
  findingSeries,
  moreText,
  phaseTable,
  shownChecks,
  shownRunText,
  sortChecks,
  type TextTable,
} from "../wording/wording.ts";
import { nextText, SIGN, unbroken } from "./answer.ts";
import { md, table } from "./markdown-text.ts";

/** The folded part of a scenario: what its answer leaves out; `named` adds its name. */
export function scenarioDetails(
  scenario: ScenarioReport,
  named: boolean,
  notes: readonly string[],
  picture: readonly string[],
): string {
  const checks = scenario.judgement?.checks ?? [];
  const { lines, others } = splitLines(scenario.findings);
  const sees = scenario.judgement === null ? null : detectable(scenario);
  const shown = shownRunText(scenario.timeline);
  const locked = lockText(scenario, "pull-request");
  const blocks = [
    ...picture,
    shown === null ? null : `The picture and the deciding sizes are those of ${shown}.`,
    checks.length > 0 ? checksText(scenario) : null,
    sees === null ? null : `This run would have detected ${sees}.`,
    peakText(scenario),
    linesMarkdown(lines),
    findingsText(others),
    locked === null ? null : `${md(locked, 2000)}.`,
    scenario.verdict === "pass" ? nextText(scenario) : null,
    `Baseline: ${md(baselineText(scenario), 200)}`,
    differencesText(scenario, "context", "These fields differ, which does not prevent a comparison:"),
    environmentText(scenario),
    scenario.runs.length > 0 ? runsTable(scenario) : null,
    phasesText(scenario),
    lostText(scenario),
    notes.length > 0 ? noteList(notes) : null,
  ].filter((block) => block !== null);
  const counted = checks.length > 0 ? [plural(checks.length, "check")] : [];
  if (notes.length > 0) counted.push(plural(notes.length, "note"));
  const label = [...counted, "runs", "environment"].join(" · ");
  return folded(named ? `${md(scenario.scenario, 80)}: ${label}` : capital(label), blocks.join("\n\n"));
}

/** Notices that do not affect the verdict. */
export function noteList(notes: readonly string[]): string {
  const shown = notes.slice(0, 10).map((note) => `- ${md(note, 400)}`);
  if (notes.length > shown.length) shown.push(`- …and ${notes.length - shown.length} more in the bundle`);
  return `**Notes**\n\n${shown.join("\n")}`;
}

/** A block that opens on a click. */
export function folded(summary: string, text: string): string {
  return `<details><summary>${summary}</summary>\n\n${text}\n\n</details>`;
}

/** Environment fields of one kind that differ from the baseline's, below a title; null when none do. */
export function differencesText(
  { judgement }: ScenarioReport,
  kind: FingerprintDifference["kind"],
  title: string,
): string | null {
  const differences = judgement?.fingerprint.filter((one) => one.kind === kind) ?? [];
  if (differences.length === 0) return null;
  const lines = differences.slice(0, 12).map((difference) => `- ${md(differenceText(difference))}`);
  return `${title}\n\n${lines.join("\n")}`;
}

function environmentText({ fingerprint }: ScenarioReport): string | null {
  const fields = Object.entries(fingerprint).filter(([, value]) => value !== null);
  if (fields.length === 0) return null;
  return fields
    .slice(0, 30)
    .map(([field, value]) => `${md(field, 60)} **${md(String(value), 120)}**`)
    .join(" · ");
}

function runsTable(scenario: ScenarioReport): string {
  const rows = scenario.runs.slice(0, 20).map((run) => {
    const { clock, sampler, exit } = run.info;
    const rate = sampler.host_rate_hz === null ? "–" : `${Math.round(sampler.host_rate_hz)} Hz, ${sampler.kind}`;
    return [
      `${run.role} ${run.info.run}`,
      clock.duration_s === null ? "–" : `${clock.duration_s.toFixed(1)} s`,
      md(exitText(exit), 120),
      rate,
    ];
  });
  return table(["Run", "Time", "Ended", "Sampled"], ["l", "r", "l", "r"], rows);
}

/** Memory by the phases that the program names; null where it names none. */
function phasesText(scenario: ScenarioReport): string | null {
  const shown = phaseTable(scenario, 24);
  return shown && `${namedRows(shown.table)}\n\n${shown.notes.map((note) => md(note)).join(" ")}`;
}

function namedRows({ head, rows }: TextTable): string {
  const align = head.map((_, at) => (at === 0 ? "l" : "r"));
  return table(
    head.map(capital),
    align,
    rows.map(([name = "", ...cells]) => [md(name, 120), ...cells]),
  );
}

/** What the peak consists of, beside that of the base; null where it was not explained. */
function peakText({ peak }: ScenarioReport): string | null {
  if (peak === undefined) return null;
  const tables = peakTables(peak).map(namedRows);
  const notes = peakNotes(peak).map((note) => `- ${md(note, 300)}`);
  return ["**What the peak consists of**", ...tables, ...(notes.length === 0 ? [] : [notes.join("\n")])].join("\n\n");
}

function lostText({ runs }: ScenarioReport): string | null {
  const lost = countedNotes(runs.flatMap((run) => run.info.lost)).slice(0, 8);
  return lost.length === 0 ? null : `Not recorded:\n\n${lost.map((text) => `- ${md(text)}`).join("\n")}`;
}

const MAX_FINDINGS = 6;

/** The checks with candidate, baseline, limit and smallest detectable change, and the reasons of those not passed. */
function checksText(scenario: ScenarioReport): string {
  const checks = scenario.judgement?.checks ?? [];
  const shown = shownChecks(checks, 24);
  const rows = shown.rows.flatMap(({ check, more }) => {
    const cells = checkCells(check);
    const advisory = check.gating || check.verdict === "pass" ? "" : " (advisory)";
    const row = [
      `${SIGN[check.verdict]} ${md(checkName(check, checks), 80)}${advisory}`,
      check.verdict === "fail" ? `**${unbroken(cells.candidate)}**` : unbroken(cells.candidate),
      unbroken(cells.baseline),
      unbroken(cells.limit),
      unbroken(cells.sees),
    ];
    return more === 0 ? [row] : [row, [`…${moreText(more)}`, "", "", "", ""]];
  });
  const out = [table(["Check", "Candidate", "Baseline", "Limit", "Would detect"], ["l", "r", "r", "r", "r"], rows)];
  if (shown.hidden > 0) out.push(`…and ${shown.hidden} more in the bundle.`);
  const reasons = sortChecks(checks)
    .filter(({ verdict }) => verdict !== "pass")
    .slice(0, 5);
  if (reasons.length > 0) {
    out.push(reasons.map((check) => `- ${md(checkName(check, checks), 80)}: ${md(check.reason, 300)}`).join("\n"));
  }
  return out.join("\n\n");
}

/** Findings with their hint; null when there are none. */
function findingsText(findings: readonly Finding[]): string | null {
  if (findings.length === 0) return null;
  const lines = findings.slice(0, MAX_FINDINGS).map((finding) => {
    const series = findingSeries(finding);
    const name = `**${md(findingName(finding), 60)}**${series === "" ? "" : ` (${md(series, 80)})`}`;
    const hint = finding.remediation[0] === undefined ? "" : `  \n  ↳ ${md(finding.remediation[0], 300)}`;
    return `- ${{ critical: "🔴", warning: "🟠", info: "🔵" }[finding.severity]} ${name}: ${md(finding.description, 400)}${hint}`;
  });
  if (findings.length > MAX_FINDINGS) lines.push(`- …and ${findings.length - MAX_FINDINGS} more in the bundle`);
  return `**Findings**\n\n${lines.join("\n")}`;
}

const MAX_LINES = 5;

/** Findings that name the line that holds growing memory, and the others. */
export function splitLines(findings: readonly Finding[]): {
  readonly lines: readonly Finding[];
  readonly others: readonly Finding[];
} {
  return {
    lines: findings.filter(({ classification }) => classification === LEAK_LINE),
    others: findings.filter(({ classification }) => classification !== LEAK_LINE),
  };
}

/** "+1.9 KiB per step" or "+2.0 MiB/s"; "–" when neither is known. */
function growthRate({ evidence }: Finding): string {
  const { bytes_per_step: perStep, bytes_per_s: perSecond } = evidence;
  if (typeof perStep === "number") return `${formatBytesDelta(perStep)} per step`;
  return typeof perSecond === "number" ? `${formatBytesDelta(perSecond)}/s` : "–";
}

/** "97 %" of the growth observed inside the process; "–" when unknown. */
function growthShare({ evidence: { share } }: Finding): string {
  return typeof share === "number" ? percent(share) : "–";
}

/** A table of the growing lines with their code, and the usual fix for the first; null when no line is known. */
export function linesMarkdown(lines: readonly Finding[]): string | null {
  const first = lines[0];
  if (first === undefined) return null;
  const rows = lines.slice(0, MAX_LINES).map((finding) => {
    const { line, function: name, code } = finding.evidence;
    const where = `**${md(String(line ?? "?"), 120)}**${typeof name === "string" ? ` ${md(name, 60)}` : ""}`;
    const found =
      finding.package === undefined ? "" : `, ${md(packageText(finding.package, finding.evidence.placed), 160)}`;
    return [
      `${where}${found}`,
      typeof code === "string" ? md(code, 90) : "",
      growthRate(finding),
      growthShare(finding),
    ];
  });
  const out = ["**The line that grows**", table(["Line", "Code", "Growth", "Share"], ["l", "l", "r", "r"], rows)];
  if (lines.length > MAX_LINES) out.push(`…and ${lines.length - MAX_LINES} more in the bundle.`);
  const hint = first.remediation[0];
  if (hint !== undefined) out.push(`↳ ${md(hint, 400)}`);
  return out.join("\n\n");
}
