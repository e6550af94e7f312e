import { usageError } from "../../core/errors.ts";
import { choice, gateIdInput, type Input } from "../input-values.ts";

/** Inputs of `accept/action.yml`, checked. */
export interface AcceptSettings {
  readonly gateId: string;
  /** File name or id of the workflow whose failed jobs run again; null = the one that left evidence of this gate. */
  readonly workflow: string | null;
  readonly pullRequest: number | null;
  readonly rerun: boolean;
}

/** @throws GateError INPUT_INVALID (usage) */
export function acceptSettings(input: Input): AcceptSettings {
  const invalid = (name: string, hint: string): never => {
    throw usageError("INPUT_INVALID", `input ${name} is "${input(name)}"`, hint);
  };
  const gateId = gateIdInput(input);
  const workflow = input("workflow") ?? null;
  if (workflow !== null && !/^[A-Za-z0-9][A-Za-z0-9._ -]{0,199}$/.test(workflow)) {
    invalid("workflow", "It takes the name of a file in .github/workflows, or the number of a workflow.");
  }
  const given = input("pull-request");
  const pullRequest = given === undefined ? null : Number(given);
  if (given !== undefined && (!/^[1-9]\d{0,8}$/.test(given) || pullRequest === null)) {
    invalid("pull-request", "It takes the number of a pull request.");
  }
  return { gateId, workflow, pullRequest, rerun: choice(input, "rerun", ["auto", "never"], "auto") === "auto" };
}
