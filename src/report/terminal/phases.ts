import type { ScenarioReport } from "../model/gate-report.ts";
import { PHASE_COLUMNS, PHASE_RIGHT, phaseCells, phaseNotes, shownPhases } from "../wording/phase-text.ts";
import type { Paint } from "./ansi.ts";
import { alignRows, cell, clip, noteLines, safe } from "./terminal-table.ts";

const MAX_PHASES = 16;

/** Memory by the phases that the program names, as a small table; empty where it names none. */
export function phaseLines(scenario: ScenarioReport, paint: Paint, width: number): string[] {
  const memory = shownPhases(scenario);
  if (memory === null) return [];
  const shown = memory.phases.slice(0, MAX_PHASES);
  const rows = shown.map((phase) => {
    const [entered, ...sizes] = phaseCells(phase);
    const name = clip(`  ${safe(phase.name)}`, Math.max(16, width - 52));
    return [cell(name), cell(entered, paint.dim), ...sizes.map((text) => cell(text))];
  });
  const head = PHASE_COLUMNS.map((name, i) => cell(i === 0 ? `  ${name}` : name, paint.dim));
  const notes = phaseNotes(memory, memory.phases.length - shown.length);
  return [...alignRows([head, ...rows], PHASE_RIGHT), ...noteLines(notes, paint, width)];
}
