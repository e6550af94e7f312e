import { usageError } from "../../core/errors.ts";
import type { ImageMode } from "../../github/comment/section-comment.ts";
import { choice, gateIdInput, type Input, imageInput } from "../input-values.ts";

/** Inputs of `report/action.yml`, checked. */
export interface ReportSettings {
  readonly gateId: string;
  readonly image: ImageMode;
  readonly comment: boolean;
  /** The run to report; null = that of the event, else this one. */
  readonly runId: number | null;
  /** Whether this job fails when the gate did. It never passes what the gate failed. */
  readonly verdictFails: boolean;
}

/** @throws GateError INPUT_INVALID (usage) */
export function reportSettings(input: Input): ReportSettings {
  const run = input("run-id");
  const runId = run === undefined ? null : Number(run);
  if (run !== undefined && (!/^\d+$/.test(run) || !Number.isSafeInteger(runId) || runId === 0)) {
    throw usageError("INPUT_INVALID", `input run-id is "${run}"`, "It takes the number of a workflow run.");
  }
  return {
    gateId: gateIdInput(input),
    image: imageInput(input),
    comment: choice(input, "comment", ["auto", "never"], "auto") === "auto",
    runId,
    verdictFails: choice(input, "fail-on", ["regression", "never"], "never") === "regression",
  };
}
