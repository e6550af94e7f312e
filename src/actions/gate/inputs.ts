import { RUN_OPTION_ENTRIES } from "../../config/run-options.ts";
import type { Environment } from "../../core/process/environment.ts";
import { safeArtifactName } from "../../github/artifacts/artifact-name.ts";
import type { ImageMode } from "../../github/comment/section-comment.ts";
import { choice, gateIdInput, type Input, imageInput, legInput, numberInput, wholeInput } from "../input-values.ts";

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
export interface PublishSettings {
  readonly token: string | null;
  /** Name of the gate; all its jobs share one comment. */
  readonly gateId: string;
  /** Leg of the matrix; null where there is none. */
  readonly leg: string | null;
  readonly comment: boolean;
  readonly image: ImageMode;
  readonly artifactName: string;
  readonly retentionDays: number | null;
  /** Whether the verdict decides the step's result; errors of the command always do. */
  readonly verdictFails: boolean;
  /** Maximum time of the whole step, milliseconds. */
  readonly timeoutMs: number;
}

/** A step whose inputs are checked. */
export interface GateStep {
  readonly env: Environment;
  readonly settings: PublishSettings;
  readonly bundleDir: string;
  /** Fires with a GateError as its reason: the step was cancelled or takes too long. */
  readonly signal: AbortSignal;
}

const DEFAULT_TIMEOUT_MINUTES = 60;

/** Check the inputs about publishing. @throws GateError INPUT_INVALID (usage) */
export function publishSettings(inputs: ActionInputs): PublishSettings {
  const input: Input = (name) => inputs[name];
  const gateId = gateIdInput(input);
  const leg = legInput(input);
  const minutes = numberInput(input, "timeout-minutes", 0.05, 35 * 24 * 60) ?? DEFAULT_TIMEOUT_MINUTES;
  return {
    token: inputs.token ?? null,
    gateId,
    leg,
    comment: choice(input, "comment", ["auto", "never"], "auto") === "auto",
    image: imageInput(input),
    artifactName: safeArtifactName(inputs["artifact-name"] ?? `stormlog-${gateId}${leg === null ? "" : `-${leg}`}`),
    retentionDays: wholeInput(input, "retention-days", 1, 90),
    verdictFails: choice(input, "fail-on", ["regression", "never"], "regression") === "regression",
    timeoutMs: minutes * 60_000,
  };
}
