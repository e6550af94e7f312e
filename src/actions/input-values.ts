import { notice } from "@actions/core";
import { type GateError, usageError } from "../core/errors.ts";
import { matrixLeg } from "../github/artifacts/artifact-name.ts";
import type { ImageMode } from "../github/comment/section-comment.ts";

/** An input as the workflow gave it, trimmed; an empty one is absent. */
export type Input = (name: string) => string | undefined;

const invalid = (name: string, given: string, takes: string): GateError =>
  usageError("INPUT_INVALID", `input ${name} is "${given}"`, `It takes ${takes}.`);

/** One of the allowed values. @throws GateError INPUT_INVALID (usage) */
export function choice<T extends string>(input: Input, name: string, allowed: readonly T[], fallback: T): T {
  const given = input(name) ?? fallback;
  const found = allowed.find((word) => word === given);
  if (found === undefined) throw invalid(name, given, allowed.join(", "));
  return found;
}

/** Maximum time of the whole step, milliseconds. @throws GateError INPUT_INVALID (usage) */
export function timeoutInput(input: Input, minutes: number): number {
  return 60_000 * (bounded(input, "timeout-minutes", 0.05, 35 * 24 * 60, "a number", /./) ?? minutes);
}

/** A whole number in a range; null when not given. @throws GateError INPUT_INVALID (usage) */
export function wholeInput(input: Input, name: string, low: number, high: number): number | null {
  return bounded(input, name, low, high, "a whole number", /^\d+$/);
}

function bounded(input: Input, name: string, low: number, high: number, kind: string, form: RegExp): number | null {
  const given = input(name);
  if (given === undefined) return null;
  const value = Number(given);
  if (!form.test(given) || !(value >= low && value <= high))
    throw invalid(name, given, `${kind} from ${low} to ${high}`);
  return value;
}

/** Where the timeline is shown. @throws GateError INPUT_INVALID (usage) */
function imageInput(input: Input): ImageMode {
  const mode = choice(input, "image", ["auto", "ref", "none", "mermaid"], "auto");
  if (mode !== "mermaid") return mode;
  notice("image: mermaid draws no chart any more. It means auto.");
  return "auto";
}

/** Whether an input that may be `auto` or `never` is `auto`. @throws GateError INPUT_INVALID (usage) */
export function isAuto(input: Input, name: string): boolean {
  return choice(input, name, ["auto", "never"], "auto") === "auto";
}

/** The inputs of every step that publishes a verdict. @throws GateError INPUT_INVALID (usage) */
export function publishingInputs(input: Input, failOn: "regression" | "never") {
  return {
    /** Name of the gate; all its jobs share one comment. */
    gateId: gateIdInput(input),
    comment: isAuto(input, "comment"),
    image: imageInput(input),
    /** Whether the verdict decides the step's result; errors and missing legs always do. */
    verdictFails: choice(input, "fail-on", ["regression", "never"], failOn) === "regression",
  } as const;
}

/** The name of the gate; all its jobs share one comment. @throws GateError INPUT_INVALID (usage) */
export function gateIdInput(input: Input): string {
  const given = input("gate-id") ?? "default";
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(given)) return given;
  throw invalid("gate-id", given, "up to 64 letters, digits, dots, underscores and hyphens");
}

/** The leg of the matrix; null where there is none. @throws GateError INPUT_INVALID (usage) */
export function legInput(input: Input): string | null {
  const given = input("matrix");
  if (given === undefined) return null;
  const leg = matrixLeg(given);
  if (leg === undefined) throw invalid("matrix", given, "a JSON object, as toJSON(matrix) makes it");
  return leg;
}
