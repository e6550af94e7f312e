import type { Finding } from "../../analysis/series/document.ts";
import { plural } from "../../core/text.ts";
import type { Check, Judgement } from "../../verdict/model/judgement.ts";
import { judgementDocument } from "../../verdict/model/judgement-document.ts";
import { VERDICT_LOOK } from "../drawing/palette.ts";
import { detectable } from "../headline/detectable.ts";
import { lockText } from "../headline/line-answer.ts";
import { peakNotes, peakTables } from "../headline/peak-answer.ts";
import { newestAnalysis } from "../model/decisive-run.ts";
import type { ScenarioReport } from "../model/gate-report.ts";
import { cyclesText } from "../wording/cycle-text.ts";
import {
  baselineText,
  checkCells,
  checkName,
  differenceText,
  findingName,
  findingSeries,
  moreText,
  phaseTable,
  processTable,
  shownChecks,
  shownRunText,
  sortChecks,
  type TextTable,
} from "../wording/wording.ts";
import { alignRows, cell, clip, noteLines, type Paint, paintVerdict, safe, wrapText } from "./terminal-table.ts";

/** A table below the answer; names that are too long are cut. */
function namedRows({ head, rows }: TextTable, paint: Paint, width: number): string[] {
  const titles = head.map((name, at) => cell(at === 0 ? `  ${name}` : name, paint.dim));
  const lines = rows.map(([name = "", ...cells]) => [
    cell(clip(`  ${safe(name)}`, Math.max(16, width - 52))),
    ...cells.map((text) => cell(text)),
  ]);
  return alignRows(
    [titles, ...lines],
    head.map((_, at) => at > 0),
  );
}

/** Memory by the phases that the program names; empty where it names none. */
function phaseLines(scenario: ScenarioReport, paint: Paint, width: number): string[] {
  const shown = phaseTable(scenario, 16);
  return shown === null ? [] : [...namedRows(shown.table, paint, width), ...noteLines(shown.notes, paint, width)];
}

/** What the processes of the newest run hold; empty where it has one. */
export function processLines(scenario: ScenarioReport, paint: Paint, width: number): string[] {
  const processes = processTable(scenario);
  return processes.rows.length === 0 ? [] : namedRows(processes, paint, width);
}

const MAX_FINDINGS = 8;

/** Findings, each with its source line and the advice. */
export function findingLines(findings: readonly Finding[], paint: Paint, width: number): string[] {
  const color = { critical: paint.red, warning: paint.yellow, info: paint.dim } as const;
  const lines = findings.slice(0, MAX_FINDINGS).flatMap((finding) => {
    const series = findingSeries(finding);
    const name = `${findingName(finding)}${series === "" ? "" : ` (${series})`}`;
    const text = wrapText(safe(`● ${name}: ${finding.description}`), width - 2, "  ");
    const hint = finding.remediation[0];
    const { code } = finding.evidence;
    return [
      ...text.map((line, i) => `  ${i === 0 ? line.replace("●", color[finding.severity]("●")) : line}`),
      ...(typeof code === "string" && code !== "" ? [`      ${safe(code.slice(0, Math.max(20, width - 8)))}`] : []),
      ...(hint === undefined
        ? []
        : wrapText(`↳ ${safe(hint)}`, width - 4, "  ").map((line) => paint.dim(`    ${line}`))),
    ];
  });
  const more = findings.length - MAX_FINDINGS;
  return more > 0 ? [...lines, paint.dim(`  and ${more} more`)] : lines;
}

/** Everything about a scenario that its answer leaves out: all checks, findings, phases, environment, baseline. */
export function detailLines(scenario: ScenarioReport, paint: Paint, width: number): string[] {
  const { judgement } = scenario;
  const blocks: string[][] = [];
  if (judgement !== null) {
    blocks.push(checkLines(judgement, paint, width));
    blocks.push(reasonLines(judgement, paint, width));
  }
  blocks.push(findingLines(scenario.findings, paint, width));
  blocks.push(...peakBlocks(scenario, paint, width));
  blocks.push(phaseLines(scenario, paint, width));
  blocks.push(processLines(scenario, paint, width));
  const sees = judgement === null ? null : detectable(scenario);
  const shown = shownRunText(scenario.timeline);
  const locked = lockText(scenario);
  const left = cyclesText(newestAnalysis(scenario.runs));
  const notes = [
    ...(left === null ? [] : [left]),
    ...(locked === null ? [] : [`${locked}.`]),
    ...(shown === null ? [] : [`The picture and the deciding sizes are those of ${shown}.`]),
    ...(sees === null ? [] : [`This run would have detected ${sees}.`]),
    ...(judgement === null ? [] : judgementNotes(judgement)),
    `Baseline: ${baselineText(scenario)}`,
  ];
  blocks.push(noteLines(notes, paint, width));
  return blocks.flatMap((lines, index) => (lines.length === 0 ? [] : index === 0 ? lines : ["", ...lines]));
}

/** What a breached peak consists of. */
function peakBlocks({ peak }: ScenarioReport, paint: Paint, width: number): string[][] {
  if (peak === undefined) return [];
  const tables = peakTables(peak).map((one) => namedRows(one, paint, width));
  return [...tables, noteLines(peakNotes(peak), paint, width)];
}

/** Why each check that did not pass did not, with its false alarm probability. */
function reasonLines({ checks }: Judgement, paint: Paint, width: number): string[] {
  const open = sortChecks(checks).filter(({ verdict }) => verdict !== "pass");
  const reasons = open.slice(0, 12).map((check) => `${checkName(check, checks)}: ${check.reason}`);
  return noteLines(reasons, paint, width);
}

export function checkLines(judgement: Judgement, paint: Paint, width: number): string[] {
  const { checks } = judgement;
  if (checks.length === 0) return [];
  const { rows: shown, hidden } = shownChecks(checks, 16);
  const head = ["  ", "candidate", "baseline", "limit", "would detect"].map((text) => cell(text, paint.dim));
  const rows = shown.flatMap(({ check, more }) => {
    const row = checkRow(check, checks, paint, width);
    return more === 0 ? [row] : [row, [cell(`    ${moreText(more)}`, paint.dim)]];
  });
  const lines = alignRows([head, ...rows], [false, true, true, true, true]);
  if (hidden > 0) lines.push(paint.dim(`  and ${hidden} more in the bundle`));
  return lines;
}

function checkRow(check: Check, all: readonly Check[], paint: Paint, width: number) {
  const look = VERDICT_LOOK[check.verdict];
  const cells = checkCells(check);
  const name = clip(safe(checkName(check, all)), Math.max(16, width - 52));
  const mark = paintVerdict(paint, check.verdict, look.sign);
  const candidate = check.verdict === "fail" ? cell(cells.candidate, paint.red) : cell(cells.candidate);
  return [
    { text: `  ${mark} ${name}`, width: cell(`  ${look.sign} ${name}`).width },
    candidate,
    cell(cells.baseline),
    cell(cells.limit),
    cell(cells.sees, paint.dim),
  ];
}

export function judgementNotes(judgement: Judgement): string[] {
  const notes: string[] = [];
  const { needs_more_runs: candidate, needs_base_runs: base, final } = judgementDocument(judgement);
  if (!final) {
    const needs = [
      ...(candidate > 0 ? [plural(candidate, "more candidate run")] : []),
      ...(base > 0 ? [`${plural(base, "run")} of the base commit`] : []),
    ];
    notes.push(`Not final: needs ${needs.join(" and ") || "more runs"}.`);
  }
  if (judgement.verdict === "fail" && final && !judgement.confirmed) {
    notes.push("Unconfirmed: confirming this needs more runs, or a run of the base commit, than the limits allow.");
  }
  for (const difference of judgement.fingerprint) {
    const prefix = difference.kind === "identity" ? "Environment differs: " : "Context differs: ";
    notes.push(prefix + differenceText(difference));
  }
  return notes;
}
