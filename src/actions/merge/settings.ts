import { parseExpected } from "../../merge/merge-legs.ts";
import { choice, type Input, publishingInputs } from "../input-values.ts";

/** Inputs of `merge/action.yml`, checked. */
export type MergeSettings = ReturnType<typeof mergeSettings>;

/** @throws GateError INPUT_INVALID, EXPECT_INVALID (usage) */
export function mergeSettings(input: Input) {
  const expect = input("expect");
  const results = ["success", "failure", "cancelled", "skipped"] as const;
  return {
    ...publishingInputs(input, "regression"),
    expected: expect === undefined ? null : parseExpected(expect),
    /** GitHub's record of the jobs that measured, as `needs.<job>.result` has it; null = not given. */
    result: input("result") === undefined ? null : choice(input, "result", results, "success"),
    unjudged: choice(input, "unjudged", ["fail", "warn", "pass"], "warn"),
  } as const;
}
