import type { UnjudgedMode } from "../../config/gate-request.ts";
import type { ImageMode } from "../../github/comment/section-comment.ts";
import { type ExpectedLegs, parseExpected } from "../../merge/merge-legs.ts";
import { choice, gateIdInput, type Input, imageInput } from "../input-values.ts";

/** GitHub's record of the jobs that measured, as `needs.<job>.result` has it. */
export type NeedsResult = "success" | "failure" | "cancelled" | "skipped";

/** Inputs of `merge/action.yml`, checked. */
export interface MergeSettings {
  readonly gateId: string;
  readonly expected: ExpectedLegs | null;
  /** Null = not given. */
  readonly result: NeedsResult | null;
  readonly comment: boolean;
  readonly image: ImageMode;
  /** Whether the verdict decides the step's result; errors and missing legs always do. */
  readonly verdictFails: boolean;
  readonly unjudged: UnjudgedMode;
}

/** @throws GateError INPUT_INVALID, EXPECT_INVALID (usage) */
export function mergeSettings(input: Input): MergeSettings {
  const expect = input("expect");
  const results = ["success", "failure", "cancelled", "skipped"] as const;
  return {
    gateId: gateIdInput(input),
    expected: expect === undefined ? null : parseExpected(expect),
    result: input("result") === undefined ? null : choice(input, "result", results, "success"),
    comment: choice(input, "comment", ["auto", "never"], "auto") === "auto",
    image: imageInput(input),
    verdictFails: choice(input, "fail-on", ["regression", "never"], "regression") === "regression",
    unjudged: choice(input, "unjudged", ["fail", "warn", "pass"], "warn"),
  };
}
