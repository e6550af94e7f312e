import { plural } from "../../core/text.ts";
import type { Check, Judgement } from "../../verdict/model/judgement.ts";
import { judgementDocument } from "../../verdict/model/judgement-document.ts";
import { VERDICT_LOOK } from "../drawing/palette.ts";
import { detectable } from "../headline/detectable.ts";
import { lockText } from "../headline/lock-text.ts";
import { peakColumns, peakNotes, peakTables } from "../headline/peak-answer.ts";
import type { ScenarioReport } from "../model/gate-report.ts";
import { moreText, shownChecks } from "../wording/shown-checks.ts";
import { baselineText, checkCells, checkName, differenceText, shownRunText, sortChecks } from "../wording/wording.ts";
import { type Paint, paintVerdict } from "./ansi.ts";
import { findingLines } from "./findings.ts";
import { phaseLines } from "./phases.ts";
import { alignRows, cell, clip, noteLines, safe } from "./terminal-table.ts";

const MAX_CHECKS = 16;
const MAX_REASONS = 12;

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
  const sees = judgement === null ? null : detectable(scenario);
  const shown = shownRunText(scenario.timeline);
  const locked = lockText(scenario);
  const notes = [
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
  const columns = peakColumns(peak);
  const tables = peakTables(peak).map(({ title, rows }) => {
    const head = [`  ${title.toLowerCase()}`, ...columns].map((text) => cell(text, paint.dim));
    const lines = rows.map(({ name, cells }) => {
      return [cell(clip(`  ${safe(name)}`, Math.max(16, width - 50))), ...cells.map((text) => cell(text))];
    });
    return alignRows([head, ...lines], [false, ...columns.map(() => true)]);
  });
  return [...tables, noteLines(peakNotes(peak), paint, width)];
}

/** Why each check that did not pass did not, with its false alarm probability. */
function reasonLines({ checks }: Judgement, paint: Paint, width: number): string[] {
  const open = sortChecks(checks).filter(({ verdict }) => verdict !== "pass");
  const reasons = open.slice(0, MAX_REASONS).map((check) => `${checkName(check, checks)}: ${check.reason}`);
  return noteLines(reasons, paint, width);
}

export function checkLines(judgement: Judgement, paint: Paint, width: number): string[] {
  const { checks } = judgement;
  if (checks.length === 0) return [];
  const { rows: shown, hidden } = shownChecks(checks, MAX_CHECKS);
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
