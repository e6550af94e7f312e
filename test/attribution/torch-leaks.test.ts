import path from "node:path";
import { describe, expect, it } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { attributed, FIXTURES, hasTorch, leakyBlock, PYTHON } from "./testing/attributed.ts";

/** Steps of the fixtures here; fewer than their default, so that the memory below a leak has more weight. */
const STEPS = 40;
const AT = [14, 21, 28, 35];

interface Expected {
  readonly hint: string;
  /** At least this share of all growth is the leaky line's. */
  readonly share: number;
  readonly at?: readonly number[];
}

/** Activations, a graph, a list, and steps of several batches. */
const LEAKS: Readonly<Record<string, Expected>> = {
  hook_activations: { hint: "kept-activations", share: 0.9 },
  created_graph: { hint: "gradient-graph", share: 0.9 },
  loss_list: { hint: "loss-kept-as-tensor", share: 0.8 },
  // Four batches to an optimizer step.
  accumulated_losses: { hint: "loss-kept-as-tensor", share: 0.9, at: [3, 5, 7, 9] },
};
/** Tried by `npm run soak`. */
const MORE_LEAKS: Readonly<Record<string, Expected>> = {
  missing_zero_grad: { hint: "missing-zero-grad", share: 0.9 },
  retained_graph: { hint: "retained-graph", share: 0.9 },
  tensor_retention: { hint: "kept-activations", share: 0.7 },
  autocast_scope: { hint: "autocast-scope", share: 0.9 },
  optimizer_duplication: { hint: "duplicated-optimizers", share: 0.9 },
  validation_outputs: { hint: "outputs-without-no-grad", share: 0.9 },
  detached_fragments: { hint: "detached-graph-fragments", share: 0.9 },
  running_loss: { hint: "loss-kept-as-tensor", share: 0.8 },
};
const TRIED = process.env.STORMLOG_TEST_TORCH_LEAKS === "all" ? { ...LEAKS, ...MORE_LEAKS } : LEAKS;

describe.skipIf(!hasTorch)("the growing line of a leak in PyTorch", { timeout: 150_000 }, () => {
  it.each(Object.entries(TRIED))("%s: the top line is the leaky one, with its pattern", async (name, expected) => {
    const script = path.join(FIXTURES, `${name}.py`);
    const ran = await attributed([PYTHON, script, String(STEPS)], { kind: "steps", at: expected.at ?? AT });
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr).not.toContain("stormlog-gate");
    const [top] = ran.attribution.lines;
    const block = leakyBlock(script);
    expect(top).toMatchObject({ file: script, user: true, device: "host", placed: "kept", trend: "grows" });
    expect(top?.line).toBeGreaterThan(block.first);
    expect(top?.line).toBeLessThan(block.last);
    expect(top?.share).toBeGreaterThan(expected.share);
    expect(top?.bytesPerStep).toBeGreaterThan(0);
    expect(top?.hint).toMatchObject({ code: expected.hint });
    expect(ran.attribution.notes).toEqual([]);
  });

  it("names the walkthrough's lines, and their bytes to the percent", async () => {
    const script = path.join(packageRoot(), "leak-lab", "walkthrough", "train.py");
    const ran = await attributed(
      [PYTHON, script, "--state", "leaky", "--device", "cpu", "--steps", "60", "--step-ms", "0"],
      {
        kind: "steps",
        at: [20, 32, 44, 56],
      },
    );
    expect(ran.code, ran.stderr).toBe(0);
    const [hidden, logits] = ran.attribution.lines;
    // 1024 x 64 activations of four bytes in every step, and 1024 x 10 logits in every fourth.
    expect(hidden).toMatchObject({ function: "observe", keptBy: "the list `hidden_cache` of DeviceTensorRetention" });
    expect((hidden?.bytesPerStep ?? 0) / (1024 * 64 * 4)).toBeCloseTo(1, 1);
    expect(logits).toMatchObject({ function: "observe", keptBy: "the list `logit_cache` of DeviceTensorRetention" });
    expect((logits?.bytesPerStep ?? 0) / ((1024 * 10 * 4) / 4)).toBeCloseTo(1, 0);
    expect(hidden?.share).toBeGreaterThan(0.9);
    expect(hidden?.hint?.code).toBe("kept-activations");
  });

  it("names no line of a training without a leak that grows by more than crumbs", async () => {
    const ran = await attributed([PYTHON, path.join(FIXTURES, "clean.py"), String(STEPS)], { kind: "steps", at: AT });
    expect(ran.code, ran.stderr).toBe(0);
    for (const line of ran.attribution.lines) expect(line.bytesPerStep).toBeLessThan(400);
  });

  it("moves timed snapshots to the ends of steps, so that they have equal phase", async () => {
    const script = path.join(FIXTURES, "hook_activations.py");
    const ran = await attributed(
      [PYTHON, script, "4000"],
      { kind: "seconds", at: [2, 3, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24] },
      // A list of fewer than four elements is not followed; a slow machine makes a step from snapshot to snapshot.
      { endAfterMoments: 4, fromStep: 8 },
    );
    // PyTorch is imported before the first moment, but on a slow machine the first step may end after it.
    const steps = ran.processes.flatMap(({ moments }) => moments.map(({ sample }) => sample.step));
    const moved = steps.slice(steps.findIndex((step) => step !== null));
    expect(moved.length).toBeGreaterThanOrEqual(3);
    expect(moved).not.toContain(null);
    expect(ran.attribution.lines[0]).toMatchObject({ function: "keep_output", placed: "kept" });
  });

  it("reports a run that ends early up to its end", async () => {
    const ran = await attributed([PYTHON, path.join(FIXTURES, "hook_activations.py"), "25"], { kind: "steps", at: AT });
    expect(ran.code, ran.stderr).toBe(0);
    const moments = ran.processes.flatMap(({ moments: own }) => own);
    expect(moments.filter(({ ended }) => ended)).toHaveLength(2);
    expect(ran.attribution.notes).toContain(
      "the last snapshot was taken while the program ended, so it may be too small",
    );
  });
});
