import type { Measurements } from "../analysis/measurements.ts";
import { usageError } from "../core/errors.ts";
import type { JudgeableInput } from "./measurements-input.ts";

/** Maximum number of scenarios or files that a message lists. */
const MAX_LISTED = 8;

/** A scenario of the candidate with the same scenario of each reference; null = that reference does not have it. */
interface ComparedScenario {
  readonly scenario: string;
  readonly candidate: Measurements;
  readonly references: readonly (Measurements | null)[];
}

/** The measurements of a scenario that an input does not have: they are unjudged. */
export function unmeasured(scenario: string): Measurements {
  return { scenario, fingerprint: null, runs: [] };
}

function listText(items: readonly string[]): string {
  const more = items.length > MAX_LISTED ? ` and ${items.length - MAX_LISTED} more` : "";
  return items.slice(0, MAX_LISTED).join(", ") + more;
}

const namesOf = ({ scenarios }: JudgeableInput): readonly string[] =>
  scenarios.map(({ measurements }) => measurements.scenario);

const find = ({ scenarios }: JudgeableInput, scenario: string): Measurements | null =>
  scenarios.find(({ measurements }) => measurements.scenario === scenario)?.measurements ?? null;

/** What an input has, for a message: `A5 has the scenarios small, big`. */
function contentText(input: JudgeableInput): string {
  const names = namesOf(input);
  return `${input.file} has the ${names.length === 1 ? "scenario" : "scenarios"} ${listText(names)}`;
}

function scenariosDiffer(several: JudgeableInput, single: JudgeableInput): Error {
  const files = several.scenarios.flatMap(({ file }) => file ?? []);
  return usageError(
    "SCENARIOS_DIFFER",
    `${contentText(several)}, and ${contentText(single)}, so they cannot be paired by name`,
    files.length === 0
      ? `Give the recordings of one scenario in place of ${several.file}.`
      : `Give the measurements of one scenario: ${listText(files)}.`,
  );
}

/**
 * The scenarios of a candidate, each with its references. Inputs of one scenario each are paired whatever their names
 * are. Where an input has several, scenarios are paired by name. A candidate or first reference of one scenario chooses
 * that scenario in the other inputs. A scenario that only one side has is not dropped but unjudged.
 * @throws GateError SCENARIOS_DIFFER when the name of a single scenario chooses none of several (exit 2)
 */
export function pairScenarios(
  candidate: JudgeableInput,
  references: readonly (JudgeableInput | null)[],
): { readonly pairs: readonly ComparedScenario[]; readonly notes: readonly string[] } {
  const given = references.filter((one) => one !== null);
  const chooser = [candidate, given[0]].find((one) => one?.several === false);
  const names = chooser === undefined ? [candidate, ...given.slice(0, 1)].flatMap(namesOf) : namesOf(chooser);
  const notes: string[] = [];
  const choose = (input: JudgeableInput, scenario: string): Measurements | null => {
    // Only inputs of one scenario each: their names do not matter.
    if (!input.several && !candidate.several) return input.scenarios[0]?.measurements ?? null;
    const found = find(input, scenario);
    if (chooser !== undefined) {
      if (found === null) throw input.several ? scenariosDiffer(input, chooser) : scenariosDiffer(candidate, input);
      if (input.several)
        notes.push(`${contentText(input)}: only ${scenario} is judged, the scenario of ${chooser.file}`);
      return found;
    }
    if (!input.several) throw scenariosDiffer(candidate, input);
    if (found === null) notes.push(`${input.file} does not have the scenario ${scenario}`);
    return found;
  };
  const pairs = [...new Set(names)].map((scenario) => ({
    scenario,
    candidate: choose(candidate, scenario) ?? unmeasured(scenario),
    references: references.map((one) => (one === null ? null : choose(one, scenario))),
  }));
  return { pairs, notes };
}
