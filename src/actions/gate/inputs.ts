import { RUN_OPTION_ENTRIES } from "../../config/run-options.ts";
import type { Environment } from "../../core/process/environment.ts";
import { safeArtifactName } from "../../github/artifacts/artifact-name.ts";
import { type Input, legInput, publishingInputs, timeoutInput, wholeInput } from "../input-values.ts";

/** Inputs of `action.yml` that are not options of `run`. */
const OWN_INPUTS = [
  "run",
  "config",
  "working-directory",
  "gate-id",
  "matrix",
  "token",
  "fail-on",
  "comment",
  "image",
  "artifact-name",
  "retention-days",
  "timeout-minutes",
];

/** Every input of `action.yml`. */
export const INPUT_NAMES: readonly string[] = [
  ...OWN_INPUTS,
  ...RUN_OPTION_ENTRIES.flatMap(([, { input }]) => (input === undefined ? [] : [input.name])),
];

/** Inputs as the workflow gave them, trimmed; an empty input is absent. */
export type ActionInputs = Environment;

/** Read the inputs from the variables the runner sets (`INPUT_<NAME>`, upper case, hyphens kept). */
export function readInputs(env: Environment): ActionInputs {
  const inputs: Record<string, string> = {};
  for (const name of INPUT_NAMES) {
    const value = env[`INPUT_${name.toUpperCase()}`]?.trim();
    if (value !== undefined && value !== "") inputs[name] = value;
  }
  return inputs;
}

/** What the Action itself does with the answer; the rest of the inputs is the engine's. */
type PublishSettings = ReturnType<typeof publishSettings>;

/** A step whose inputs are checked. */
export interface GateStep {
  readonly env: Environment;
  readonly settings: PublishSettings;
  readonly bundleDir: string;
  /** Fires with a GateError as its reason: the step was cancelled or takes too long. */
  readonly signal: AbortSignal;
}

/** Check the inputs about publishing. @throws GateError INPUT_INVALID (usage) */
export function publishSettings(inputs: ActionInputs) {
  const input: Input = (name) => inputs[name];
  const publishing = publishingInputs(input, "regression");
  const leg = legInput(input);
  const usualName = `stormlog-${publishing.gateId}${leg === null ? "" : `-${leg}`}`;
  return {
    ...publishing,
    token: inputs.token ?? null,
    /** Leg of the matrix; null where there is none. */
    leg,
    artifactName: safeArtifactName(inputs["artifact-name"] ?? usualName),
    retentionDays: wholeInput(input, "retention-days", 1, 90),
    timeoutMs: timeoutInput(input, 60),
  } as const;
}
