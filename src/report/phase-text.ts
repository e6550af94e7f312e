import type { PhaseMemory, PhasesMemory } from "../analysis/phases.ts";
import { plural } from "../core/text.ts";
import { formatBytes, formatBytesDelta, formatDuration } from "../core/units.ts";
import type { ScenarioReport } from "./documents/model.ts";

/** The columns of a table of phases, and which of them align right. */
export const PHASE_COLUMNS = ["phase", "entered", "time", "highest", "growth"] as const;
export const PHASE_RIGHT = [false, true, true, true, true] as const;

/** The phases of the newest judged run that named some; null when none did. */
export function shownPhases({ runs }: ScenarioReport): PhasesMemory | null {
  return runs.findLast(({ role, phases }) => role === "candidate" && phases !== undefined)?.phases ?? null;
}

/** The cells after the name. */
export function phaseCells(phase: PhaseMemory): readonly [string, string, string, string] {
  const { entered, unended, processes, seconds, highest_bytes: highest, growth_bytes: growth } = phase;
  const places = processes > 1 ? ` in ${processes} processes` : "";
  const open = unended === 0 ? "" : unended === entered ? ", not ended" : `, ${unended} not ended`;
  return [
    `${entered}${places}${open}`,
    seconds === null ? "–" : formatDuration(seconds),
    highest === null ? "–" : formatBytes(highest),
    growth === null ? "–" : formatBytesDelta(growth),
  ];
}

/** What the sizes are of, and what is not in the table; not escaped. */
export function phaseNotes(memory: PhasesMemory, hidden: number): readonly string[] {
  const { metric, device, phases, dropped } = memory;
  const of =
    metric === "host"
      ? "host memory of the process tree"
      : device === "host"
        ? "memory allocated from the heap"
        : `memory allocated on ${device ?? "the devices"}`;
  return [
    `Sizes: samples of the ${of}; growth from entry to end${phases.some(({ entered }) => entered > 1) ? ", median over entries" : ""}.`,
    ...(hidden > 0 ? [`${plural(hidden, "more phase is", "more phases are")} in report.json.`] : []),
    ...(dropped > 0 ? [`${plural(dropped, "further entry was", "further entries were")} not kept.`] : []),
  ];
}
