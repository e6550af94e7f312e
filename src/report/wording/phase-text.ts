import type { PhaseMemory, PhasesMemory } from "../../analysis/growth/phases.ts";
import { plural } from "../../core/text.ts";
import { formatBytesDelta, formatDuration } from "../../core/units.ts";
import type { ScenarioReport } from "../model/gate-report.ts";
import { sizeCell } from "./wording.ts";

/** The columns of a table of phases, and which of them align right. */
export const PHASE_COLUMNS = ["phase", "entered", "time", "highest", "growth"] as const;
export const PHASE_RIGHT = [false, true, true, true, true] as const;

/** The phases of the newest candidate run that named any; null when none did. */
export function shownPhases({ runs }: ScenarioReport): PhasesMemory | null {
  return runs.findLast(({ role, phases }) => role === "candidate" && phases !== undefined)?.phases ?? null;
}

/** The cells after the name. */
export function phaseCells(phase: PhaseMemory): readonly [string, string, string, string] {
  const { entered, unended, processes, seconds, growth_bytes: growth } = phase;
  const inProcesses = processes > 1 ? ` in ${processes} processes` : "";
  const open = unended === 0 ? "" : unended === entered ? ", not ended" : `, ${unended} not ended`;
  return [
    `${entered}${inProcesses}${open}`,
    seconds === null ? "–" : formatDuration(seconds),
    sizeCell(phase.highest_bytes),
    growth === null ? "–" : formatBytesDelta(growth),
  ];
}

/** Which memory the sizes measure, and what the table omits; not escaped. */
export function phaseNotes(memory: PhasesMemory, hidden: number): readonly string[] {
  const { metric, device, phases, dropped } = memory;
  const of =
    metric === "host"
      ? "host memory of the process tree"
      : device === "host"
        ? "memory allocated from the heap"
        : `memory allocated on ${device ?? "the devices"}`;
  const median = phases.some(({ entered }) => entered > 1) ? ", median over entries" : "";
  return [
    `Sizes: samples of the ${of}; growth from entry to end${median}.`,
    ...(hidden > 0 ? [`report.json lists ${plural(hidden, "more phase", "more phases")}.`] : []),
    ...(dropped > 0 ? [`${plural(dropped, "further entry was", "further entries were")} dropped.`] : []),
  ];
}
