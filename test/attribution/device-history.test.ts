import { existsSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { attributed, FIXTURES, leakyBlock, PYTHON, STAND_INS } from "./testing/attributed.ts";

describe.skipIf(!existsSync(PYTHON))("a device whose allocator records its history", () => {
  const script = path.join(FIXTURES, "device_hook.py");

  // No device here: a stand-in with the private calls of three releases. The snapshots are real pickles in their
  // layouts.
  it.each(["today", "2.0", "1.13"])("names the line that keeps its memory (torch %s)", async (release) => {
    const ran = await attributed(
      [PYTHON, script],
      { kind: "steps", at: [20, 30, 40, 50] },
      { env: { STANDIN_TORCH: release, PYTHONPATH: path.join(STAND_INS, "torch-history") } },
    );
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.notes).toEqual([]);
    const top = ran.attribution.lines.find(({ device }) => device === "cuda:0");
    const block = leakyBlock(script);
    expect(top).toMatchObject({
      file: script,
      function: "keep_output",
      placed: "kept",
      keptBy: "the list `kept`",
      allocatedAt: { file: script, function: "layer" },
      bytesPerStep: 1 << 20,
    });
    expect(top?.line).toBeGreaterThan(block.first);
    expect(top?.line).toBeLessThan(block.last);
    expect(top?.share).toBeGreaterThan(0.99);
    expect(top?.hint?.code).toBe("kept-activations");
  });
});
