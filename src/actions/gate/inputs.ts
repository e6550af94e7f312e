import { GateError, usageError } from "../../core/errors.ts";
import { matrixLeg, safeArtifactName } from "../../github/artifact-name.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Every input of `action.yml`. */
export const INPUT_NAMES = [
  "run",
  "config",
  "scenario",
  "working-directory",
  "gate-id",
  "matrix",
  "baseline",
  "repeats",
  "base-run",
  "max-runs",
  "max-minutes",
  "token",
  "fail-on",
  "unjudged",
  "comment",
  "image",
  "artifact-name",
  "retention-days",
  "timeout-minutes",
  "probe",
  "attribute",
  "interval-ms",
  "budget",
  "horizon",
] as const;

export type InputName = (typeof INPUT_NAMES)[number];

/** Inputs as the workflow gave them, trimmed; an empty input is absent. */
export type ActionInputs = Readonly<Partial<Record<InputName, string>>>;

/** Read the inputs from the variables the runner sets (`INPUT_<NAME>`, upper case, hyphens kept). */
export function readInputs(env: Environment): ActionInputs {
  const inputs: Partial<Record<InputName, string>> = {};
  for (const name of INPUT_NAMES) {
    const value = env[`INPUT_${name.toUpperCase()}`]?.trim();
    if (value !== undefined && value !== "") inputs[name] = value;
  }
  return inputs;
}

/** What the Action itself does with the answer; the rest of the inputs is the engine's. */
export interface PublishSettings {
  readonly token: string | null;
  /** Gate id, with the leg of a matrix behind a slash: what the sticky comment is kept under. */
  readonly commentKey: string;
  readonly comment: boolean;
  readonly mermaid: boolean;
  readonly artifactName: string;
  readonly retentionDays: number | null;
  /** Whether the verdict decides the step's result; errors of the command always do. */
  readonly verdictFails: boolean;
  /** Longest time for the whole step, milliseconds. */
  readonly timeoutMs: number;
  /** Inputs that are understood but not met by this version, one sentence each. */
  readonly notices: readonly string[];
}

const DEFAULT_TIMEOUT_MINUTES = 60;

function choice<T extends string>(inputs: ActionInputs, name: InputName, allowed: readonly T[], fallback: T): T {
  const given = inputs[name] ?? fallback;
  const found = allowed.find((word) => word === given);
  if (found === undefined) {
    throw usageError("INPUT_INVALID", `input ${name} is "${given}"`, `It takes ${allowed.join(", ")}.`);
  }
  return found;
}

function number(inputs: ActionInputs, name: InputName, low: number, high: number, whole: boolean): number | null {
  const given = inputs[name];
  if (given === undefined) return null;
  const value = Number(given);
  if (!Number.isFinite(value) || value < low || value > high || (whole && !Number.isInteger(value))) {
    const kind = whole ? "a whole number" : "a number";
    throw usageError("INPUT_INVALID", `input ${name} is "${given}"`, `It takes ${kind} from ${low} to ${high}.`);
  }
  return value;
}

/**
 * Check the inputs about publishing.
 * @throws GateError INPUT_INVALID (usage)
 */
export function publishSettings(inputs: ActionInputs): PublishSettings {
  const gateId = inputs["gate-id"] ?? "default";
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(gateId)) {
    throw new GateError("INPUT_INVALID", `input gate-id is "${gateId}"`, {
      kind: "usage",
      hint: "It takes up to 64 letters, digits, dots, underscores and hyphens.",
    });
  }
  const leg = inputs.matrix === undefined ? null : matrixLeg(inputs.matrix);
  const image = choice(inputs, "image", ["auto", "ref", "mermaid", "none"], "auto");
  const minutes = number(inputs, "timeout-minutes", 0.05, 35 * 24 * 60, false) ?? DEFAULT_TIMEOUT_MINUTES;
  return {
    token: inputs.token ?? null,
    commentKey: leg === null ? gateId : `${gateId}/${leg}`,
    comment: choice(inputs, "comment", ["auto", "never"], "auto") === "auto",
    mermaid: image !== "none",
    artifactName: safeArtifactName(inputs["artifact-name"] ?? `stormlog-${gateId}${leg === null ? "" : `-${leg}`}`),
    retentionDays: number(inputs, "retention-days", 1, 90, true),
    verdictFails: choice(inputs, "fail-on", ["regression", "never"], "regression") === "regression",
    timeoutMs: minutes * 60_000,
    notices: image === "ref" ? ["image: ref is not met by this version; the comment shows a mermaid timeline."] : [],
  };
}
