import { describe, expect, it } from "vitest";
import type { Frame } from "../model/frames.ts";
import { categoryByLifetime, categoryOf, phaseOfStack } from "./tensor-category.ts";

const at = (file: string, name = "f"): Frame => ({
  file: `/venv/site-packages/torch/${file}`,
  line: 1,
  function: name,
});
const USER: Frame = { file: "/repo/train.py", line: 9, function: "main" };
const FORWARD = [at("nn/modules/linear.py", "forward"), at("nn/modules/module.py", "_call_impl"), USER];
const BACKWARD = [at("autograd/__init__.py", "backward"), at("_tensor.py", "backward"), USER];
const OPTIMIZER = [at("optim/adam.py", "step"), USER];

describe("the category of memory", () => {
  it("follows from the phase of its stack, the innermost meaning first", () => {
    const recomputed = [...FORWARD.slice(0, 2), ...BACKWARD];
    expect([FORWARD, BACKWARD, OPTIMIZER, recomputed, [USER]].map(phaseOfStack)).toEqual([
      "forward",
      "backward",
      "optimizer",
      "backward",
      null,
    ]);
  });

  it("categoryOf classifies memory that the probe did not find as kept, temporary or of no model", () => {
    const tensor = { isTensor: true, isTorch: true, kept: false };
    expect(categoryOf({ ...tensor, phase: "evaluation" })).toBe("temporary");
    expect(categoryOf({ ...tensor, phase: "evaluation", kept: true })).toBe("kept_tensors");
    expect(categoryOf({ ...tensor, phase: "backward", kept: true })).toBe("temporary");
    expect(categoryOf({ ...tensor, phase: "load" })).toBe("other_tensors");
    expect(categoryOf({ ...tensor, isTensor: false, phase: "forward" })).toBe("temporary");
    expect(categoryOf({ ...tensor, isTensor: false, phase: null })).toBe("outside_tensors");
  });

  it.each([
    ["activations", FORWARD, "backward", "forward"],
    ["temporary", FORWARD, "forward", "backward"],
    [null, FORWARD, null, null],
    ["gradients", BACKWARD, "optimizer", "forward"],
    ["gradients", BACKWARD, "backward", "forward"],
    ["gradients", BACKWARD, null, null],
    ["temporary", BACKWARD, "backward", "backward"],
    ["optimizer_state", OPTIMIZER, null, null],
    ["temporary", OPTIMIZER, "optimizer", "forward"],
    ["parameters", [at("nn/modules/module.py", "convert"), USER], null, null],
    ["activations", [USER], "backward", "backward"],
    [null, [USER], "backward", "forward"],
  ] as const)(
    "a device's memory has the category %s by when it is allocated and released",
    (category, stack, before, after) => {
      expect(categoryByLifetime(stack, { before, after })).toBe(category);
    },
  );
});
