import path from "node:path";
import { assertNever, GateError, messageOf } from "../core/errors.ts";
import { temporaryDirectory } from "../core/temporary-directory.ts";
import { plural } from "../core/text.ts";
import { closeProcess } from "../sampler/native.ts";
import type { PreparedState, StateJudge, StateVerdict } from "./judge-state.ts";
import { type Next, nextQuestion } from "./search.ts";
import { removeScratch, SCRATCH_PREFIX, type SearchState, type Step, saveState } from "./state.ts";
import { failed } from "./tool.ts";

/** A state that cannot be built, installed or run, which does not fail the search. */
export interface Unusable {
  readonly reason: string;
  /** Changes that only work together, by index, where that is known. */
  readonly together?: readonly number[];
}

/** What is searched: an ordered list of changes, any set of which can be prepared. */
export interface Subject {
  readonly count: number;
  /** Short name of the state with these changes. */
  readonly nameOf: (included: readonly number[]) => string;
  /**
   * Build a state in an empty throw-away directory.
   * @throws GateError (error) when the environment fails, whatever the state
   */
  readonly prepare: (included: readonly number[], scratch: string) => Promise<PreparedState | Unusable>;
}

export interface SearchPorts {
  readonly log: (line: string) => void;
  readonly interrupt: AbortSignal;
}

type SearchResult =
  | {
      readonly kind: "found";
      readonly changes: readonly number[];
      readonly probability: number;
      readonly red: Step;
      readonly bad: Step;
    }
  | { readonly kind: "not-reproducible"; readonly reason: string }
  | { readonly kind: "undecided"; readonly changes: readonly number[] };

export interface FinishedSearch {
  readonly result: SearchResult;
  readonly steps: readonly Step[];
}

const GOOD = "good";
const BAD = "bad";

/**
 * Judge the good and the bad state, then search the change between them. The state is saved after every step.
 * @throws GateError INTERRUPTED, SEARCH_ENVIRONMENT_FAILED, and those of the gate and of `saveState`
 */
export async function runSearch(
  directory: string,
  begun: SearchState,
  subject: Subject,
  judge: StateJudge,
  ports: SearchPorts,
): Promise<FinishedSearch> {
  // Code that is searched must not read the secrets of this process.
  closeProcess();
  let state = begun;
  const all = Array.from({ length: subject.count }, (_, at) => at);
  const step = async (name: string, included: readonly number[]): Promise<Step> => {
    const known = name === GOOD || name === BAD ? state.steps.find((one) => one.name === name) : undefined;
    if (known !== undefined) return known;
    const made = await oneStep(name, included);
    if (name === GOOD || name === BAD) required(made);
    state = { ...state, scratch: null, steps: [...state.steps, made] };
    await saveState(directory, state);
    ports.log(`${name}: ${made.verdict ?? "skipped"}, ${made.sentence}`);
    return made;
  };
  const oneStep = async (name: string, included: readonly number[]): Promise<Step> => {
    checkInterrupt(ports.interrupt);
    const started = performance.now();
    const scratch = await temporaryDirectory(SCRATCH_PREFIX);
    try {
      state = { ...state, scratch };
      await saveState(directory, state);
      ports.log(`${name}: preparing`);
      const prepared = await subject.prepare(included, scratch).catch((error: unknown) => {
        if (error instanceof GateError) throw error;
        throw failed(`the state cannot be prepared: ${messageOf(error)}`);
      });
      checkInterrupt(ports.interrupt);
      const minutes = (): number => (performance.now() - started) / 60_000;
      if ("reason" in prepared) {
        const { reason, together } = prepared;
        return {
          name,
          included,
          outcome: "skipped",
          verdict: null,
          sentence: reason,
          minutes: minutes(),
          bundle: null,
          ...(together === undefined ? {} : { together }),
        };
      }
      const bundle = path.join(directory, "steps", String(state.steps.length + 1));
      const judged = await (name === GOOD ? judge.good(prepared, bundle) : judge.other(prepared, bundle, name === BAD));
      checkInterrupt(ports.interrupt);
      return { name, included, outcome: outcomeOf(judged, name), ...judged, minutes: minutes() };
    } catch (error) {
      // What an interrupt ended looks like an error of its own.
      checkInterrupt(ports.interrupt);
      throw error;
    } finally {
      await removeScratch(scratch);
    }
  };

  const good = await step(GOOD, []);
  const bad = await step(BAD, all);
  // Both are shown: which of them is the surprise only the user knows.
  if (good.verdict === "fail") return { result: notReproducible("good is red"), steps: state.steps };
  if (bad.outcome !== "red") return { result: notReproducible(`bad is ${bad.verdict}`), steps: state.steps };
  for (;;) {
    const answers = state.steps.filter(({ name }) => name !== GOOD && name !== BAD);
    const next: Next = nextQuestion(subject.count, answers);
    switch (next.kind) {
      case "ask":
        await step(subject.nameOf(next.included), next.included);
        break;
      case "found":
        return { result: { ...next, red: nearestRed([bad, ...answers], next.changes), bad }, steps: state.steps };
      case "undecided":
        return { result: next, steps: state.steps };
      default:
        return assertNever(next);
    }
  }
}

const notReproducible = (reason: string): SearchResult => ({ kind: "not-reproducible", reason });

/** The smallest red state that has the change: its evidence shows the least beside it. */
function nearestRed(steps: readonly Step[], changes: readonly number[]): Step {
  const red = steps.filter(
    ({ outcome, included }) => outcome === "red" && changes.some((change) => included.includes(change)),
  );
  return red.reduce((a, b) => (b.included.length < a.included.length ? b : a));
}

/** A warning does not fail. A state that is unjudged or does not run is skipped; the good state is the baseline. */
function outcomeOf({ verdict }: StateVerdict, name: string): Step["outcome"] {
  const unjudged = name === GOOD ? "green" : "skipped";
  return ({ fail: "red", pass: "green", warn: "green", unjudged, error: "skipped" } as const)[verdict];
}

/** The good and the bad state must run. */
function required({ name, verdict, sentence, bundle }: Step): void {
  if (verdict !== null && verdict !== "error") return;
  const output = bundle === null ? "" : ` Its output is in ${bundle} (runs/*/*/output.log).`;
  throw new GateError("SEARCH_ENVIRONMENT_FAILED", `the ${name} state cannot be run: ${sentence}`, {
    hint: `Both ends of the search must build and run in a clean directory.${output}`,
  });
}

function checkInterrupt({ aborted, reason }: AbortSignal): void {
  if (!aborted) return;
  throw new GateError("INTERRUPTED", `interrupted by ${reason}`, {
    kind: "interrupted",
    hint: "The same command with --resume continues the search.",
  });
}

/** "7 states in 12.4 minutes, 1 of them skipped" */
export function searchCost(steps: readonly Step[]): string {
  const minutes = steps.reduce((sum, step) => sum + step.minutes, 0);
  const skipped = steps.filter(({ verdict }) => verdict === null).length;
  return `${plural(steps.length, "state")} in ${minutes.toFixed(1)} minutes${skipped > 0 ? `, ${skipped} of them skipped` : ""}`;
}
