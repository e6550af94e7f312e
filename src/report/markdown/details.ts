import type { ScenarioReport } from "../documents/model.ts";
import { PHASE_COLUMNS, PHASE_RIGHT, phaseCells, phaseNotes, shownPhases } from "../phase-text.ts";
import { baselineText, capital, differenceText, exitText } from "../wording.ts";
import { md, table } from "./markdown-text.ts";
import { checksText, findingsText, nextText } from "./checks.ts";

const MAX_DIFFERENCES = 12;
const MAX_FIELDS = 30;
const MAX_RUNS = 20;
const MAX_LOST = 8;
const MAX_PHASES = 24;

/**
 * What is folded away of a scenario: of a pass everything, of others what explains.
 * @param named whether the scenario's name has to be said
 */
export function scenarioDetails(scenario: ScenarioReport, named: boolean): string {
  const passed = scenario.word === "pass";
  const blocks = [
    passed && (scenario.judgement?.checks.length ?? 0) > 0 ? checksText(scenario) : null,
    passed ? findingsText(scenario.findings) : null,
    passed ? nextText(scenario) : null,
    `Baseline: ${md(baselineText(scenario), 200)}`,
    contextText(scenario),
    environmentText(scenario),
    scenario.runs.length > 0 ? runsTable(scenario) : null,
    phasesText(scenario),
    lostText(scenario),
  ].filter((block) => block !== null);
  const name = named ? `${md(scenario.scenario, 80)}: ` : "";
  const label = passed ? "checks, environment and runs" : "environment and runs";
  const summary = named ? `${name}${label}` : capital(label);
  return `<details><summary>${summary}</summary>\n\n${blocks.join("\n\n")}\n\n</details>`;
}

function contextText({ judgement }: ScenarioReport): string | null {
  const context = judgement?.fingerprint.filter(({ kind }) => kind === "context") ?? [];
  if (context.length === 0) return null;
  const lines = context.slice(0, MAX_DIFFERENCES).map((difference) => `- ${md(differenceText(difference))}`);
  return `Differs, but does not hinder a comparison:\n\n${lines.join("\n")}`;
}

function environmentText({ fingerprint }: ScenarioReport): string | null {
  const fields = Object.entries(fingerprint).filter(([, value]) => value !== null);
  if (fields.length === 0) return null;
  return fields
    .slice(0, MAX_FIELDS)
    .map(([field, value]) => `${md(field, 60)} **${md(String(value), 120)}**`)
    .join(" · ");
}

function runsTable(scenario: ScenarioReport): string {
  const rows = scenario.runs.slice(0, MAX_RUNS).map((run) => {
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

/** Memory by the phases that the program names; null where it named none. */
function phasesText(scenario: ScenarioReport): string | null {
  const memory = shownPhases(scenario);
  if (memory === null) return null;
  const shown = memory.phases.slice(0, MAX_PHASES);
  const rows = shown.map((phase) => [md(phase.name, 80), ...phaseCells(phase)]);
  const notes = phaseNotes(memory, memory.phases.length - shown.length).map((note) => md(note));
  const align = PHASE_RIGHT.map((right) => (right ? "r" : "l"));
  return `${table(PHASE_COLUMNS.map(capital), align, rows)}\n\n${notes.join(" ")}`;
}

function lostText({ runs }: ScenarioReport): string | null {
  const lost = [...new Set(runs.flatMap((run) => run.info.lost))].slice(0, MAX_LOST);
  return lost.length === 0 ? null : `Not recorded:\n\n${lost.map((text) => `- ${md(text)}`).join("\n")}`;
}
