import { plural } from "../../core/text.ts";
import { formatBytes, formatDuration } from "../../core/units.ts";
import type { Check, Judgement } from "../../verdict/judgement.ts";
import { judgementDocument } from "../../verdict/judgement-document.ts";
import type { GateReport, ScenarioReport, Verdict } from "../documents/model.ts";
import { ACCEPT, nextSteps, REFRESH } from "../next-steps.ts";
import { moreText, shownChecks } from "../shown-checks.ts";
import { sparkline } from "../sparkline.ts";
import { VERDICT_LOOK } from "../timeline/palette.ts";
import { rankSeries, seriesLabel } from "../timeline/timeline-model.ts";
import { urgency } from "../urgency.ts";
import {
  baselineText,
  checkCells,
  checkName,
  costText,
  countedNotes,
  differenceText,
  exitText,
  failedExit,
  headlineOf,
  sensitivity,
} from "../wording.ts";
import { acceptedNote, policyNotes } from "./acceptance.ts";
import { type Paint, painter, paintVerdict } from "./ansi.ts";
import { findingLines } from "./findings.ts";
import { phaseLines } from "./phases.ts";
import { alignRows, cell, clip, noteLines, safe, usableWidth, wrapText } from "./terminal-table.ts";

interface TerminalOptions {
  readonly color: boolean;
  /** Columns of the terminal. */
  readonly width: number;
  /** The commands to copy, where bundle, baseline or command differ from the defaults. */
  readonly commands?: { readonly accept: string; readonly refresh: string };
}

const MAX_CHECKS = 16;
const TAIL_LINES = 12;
const MAX_WIDTH = 120;

/** The output of `run` and `show`: for each scenario its verdict, checks, memory over time, and what to do next. */
export function renderTerminal(report: GateReport, options: TerminalOptions): string {
  const paint = painter(options.color);
  const width = usableWidth(options.width, MAX_WIDTH);
  // The worst comes last because the end of the output is what a terminal shows.
  const scenarios = [...report.scenarios].sort((a, b) => urgency(b) - urgency(a));
  const blocks = scenarios.map((scenario) => scenarioBlock(scenario, paint, width, options.commands).join("\n"));
  const end: string[] = policyNotes(report).flatMap((note) => wrapText(safe(note), width, "    "));
  for (const note of countedNotes(report.warnings)) {
    end.push(...wrapText(`note: ${safe(note)}`, width, "  ").map(paint.dim));
  }
  if (report.scenarios.length !== 1) {
    end.push(`${verdictMark(report.word, paint)}  ${report.scenarios.length} scenarios, ${costText(report.cost)}`);
  }
  return [...blocks, ...(end.length > 0 ? [end.join("\n")] : [])].join("\n\n");
}

/** The output of `judge` and `compare`. */
export function renderJudgementTerminal(judgement: Judgement, options: TerminalOptions): string {
  const paint = painter(options.color);
  const width = usableWidth(options.width, MAX_WIDTH);
  const lines = [verdictLine(judgement.verdict, "", judgement.reason, paint, width), ""];
  lines.push(...checkLines(judgement, paint, width));
  lines.push("", ...judgementNotes(judgement, paint, width));
  return lines.join("\n").trimEnd();
}

function scenarioBlock(
  scenario: ScenarioReport,
  paint: Paint,
  width: number,
  commands: TerminalOptions["commands"],
): string[] {
  const { judgement } = scenario;
  const lines = [verdictLine(scenario.word, scenario.scenario, headlineOf(scenario), paint, width), ""];
  lines.push(...sparkLines(scenario, paint, width));
  if (judgement !== null && judgement.checks.length > 0) lines.push(...checkLines(judgement, paint, width), "");
  if (scenario.error !== null) lines.push(...errorLines(scenario, paint, width), "");
  const found = findingLines(scenario.findings, paint, width);
  if (found.length > 0) lines.push(...found, "");
  const phases = phaseLines(scenario, paint, width);
  if (phases.length > 0) lines.push(...phases, "");
  if (judgement !== null) lines.push(...judgementNotes(judgement, paint, width));
  const accepted = acceptedNote(scenario);
  if (accepted !== null) lines.push(...wrapText(`  ${safe(accepted)}`, width, "    "));
  lines.push(paint.dim(clip(`  ${safe(baselineText(scenario))}`, width)));
  const steps = nextSteps(scenario).flatMap((step) => {
    const text = wrapText(`→ ${safe(step.text)}`, width - 2, "    ").map((line, i) => (i === 0 ? `  ${line}` : line));
    if (step.command === undefined) return text;
    const exact = step.command === ACCEPT ? commands?.accept : step.command === REFRESH ? commands?.refresh : undefined;
    return [...text, `      ${paint.cyan(safe(exact ?? step.command))}`];
  });
  if (steps.length > 0) lines.push("", ...steps);
  return lines;
}

function verdictMark(verdict: Verdict, paint: Paint): string {
  const look = VERDICT_LOOK[verdict];
  return paintVerdict(paint, verdict, `${look.sign} ${look.label}`);
}

function verdictLine(verdict: Verdict, name: string, reason: string, paint: Paint, width: number): string {
  const mark = verdictMark(verdict, paint);
  const head = name === "" ? mark : `${mark}  ${paint.bold(clip(safe(name), 60))}`;
  return [head, ...wrapText(safe(reason), width - 2, "").map((line) => `  ${line}`)].join("\n");
}

function sparkLines(scenario: ScenarioReport, paint: Paint, width: number): string[] {
  const { timeline } = scenario;
  const main = timeline === null ? null : rankSeries(timeline).main;
  if (timeline === null || main === null || main.peak === null) return [];
  const line = sparkline(main.series.bytes, Math.min(60, Math.max(10, width - 32)));
  const seconds = main.series.time_s[main.series.time_s.length - 1] ?? 0;
  const time = Number.isFinite(seconds) ? ` in ${formatDuration(Math.max(0, seconds))}` : "";
  const label = `${safe(seriesLabel(main.series, timeline))} up to ${formatBytes(main.peak.bytes)}${time}`;
  const shown = paintVerdict(paint, scenario.word, line);
  return [`  ${shown}`, paint.dim(clip(`  ${label}`, width)), ""];
}

function checkLines(judgement: Judgement, paint: Paint, width: number): string[] {
  const { checks } = judgement;
  if (checks.length === 0) return [];
  const { rows: shown, hidden } = shownChecks(checks, MAX_CHECKS);
  const head = ["  ", "candidate", "baseline", "limit", "sees ≥"].map((text) => cell(text, paint.dim));
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

function judgementNotes(judgement: Judgement, paint: Paint, width: number): string[] {
  const notes: string[] = [];
  const sees = sensitivity(judgement);
  if (sees !== null) notes.push(`This run would have detected ${sees}.`);
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
  return noteLines(notes, paint, width);
}

function errorLines(scenario: ScenarioReport, paint: Paint, width: number): string[] {
  const { error } = scenario;
  if (error === null) return [];
  const exit = failedExit(scenario);
  // The headline contains why a command did not start.
  const state = exit === null || exit.kind === "not-started" ? "" : `  ${safe(exitText(exit))}`;
  const lines = [clip(`  ${safe(error.code)}${state}`, width)];
  const output = (error.output_tail ?? "").trimEnd().split("\n").slice(-TAIL_LINES);
  if (output.some((line) => line.trim() !== "")) {
    lines.push(
      ...output.map((line) => paint.dim(clip(`  │ ${safe(line.replace(/\r/g, "").replaceAll("\t", "    "))}`, width))),
    );
  }
  return lines;
}
