import path from "node:path";
import { describe, expect, it } from "vitest";
import { nameLines } from "../../src/attribution/lines/name-lines.ts";
import { packageRoot } from "../../src/core/package-root.ts";
import { attributed, FIXTURES, leakyBlock } from "./testing/attributed.ts";

/** A busy machine starts a program after the first of them: a run lasts until enough are written. */
const LATE_TOO = [0.6, 1, 1.5, 2, 3, 4.5, 7, 10, 15, 22, 33, 50];

describe("the growing line of a leak in Node", () => {
  it("names the demo's line, and the one that allocates what is kept there", async () => {
    const script = path.join(packageRoot(), "leak-lab", "demo", "workload.mjs");
    const ran = await attributed([process.execPath, script, "leaky"], { kind: "steps", at: [30, 50, 70, 90] });
    expect(ran.code, ran.stderr).toBe(0);
    const [top] = ran.attribution.lines;
    expect(top).toMatchObject({ file: script, function: "leaky", placed: "kept", keptBy: "the array `retained`" });
    expect(top?.allocatedAt).toMatchObject({ file: script, function: "leaky" });
    expect(top?.share).toBeGreaterThan(0.9);
    expect(Math.abs((top?.bytesPerStep ?? 0) / (512 * 1024) - 1)).toBeLessThan(0.1);
  });

  it("names no line in the demo without its leak", async () => {
    const script = path.join(packageRoot(), "leak-lab", "demo", "workload.mjs");
    const at = [0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 1.9];
    const ran = await attributed([process.execPath, script, "clean"], { kind: "seconds", at });
    expect(ran.code, ran.stderr).toBe(0);
    // Against the smallest growth that fails a verdict: V8 compiles code late, more so on a busy machine.
    const stretch = { kind: "growth", unit: "seconds", start: 0, onset: 0, end: 2.2, bytes: 8 * 2 ** 20 } as const;
    const growth = { device: "host", metric: "host", stretch, bytes: stretch.bytes, freed: null } as const;
    expect(nameLines(ran.attribution, [growth], { steps: null, seconds: 1.2, slowdown: 1 }).named).toEqual([]);
  });

  it("finds the line that keeps objects made elsewhere, in a program that never waits", async () => {
    const script = path.join(FIXTURES, "node-cache.mjs");
    const ran = await attributed(
      [process.execPath, script, "100"],
      { kind: "seconds", at: LATE_TOO },
      { endAfterMoments: 4 },
    );
    expect(ran.stderr).toBe("");
    const [top] = ran.attribution.lines;
    const block = leakyBlock(script);
    expect(top).toMatchObject({ file: script, function: "remember", keptBy: "the map `cache`" });
    expect(top?.line).toBeGreaterThan(block.first);
    expect(top?.line).toBeLessThan(block.last);
    expect(top?.share).toBeGreaterThan(0.9);
  });

  it("counts typed arrays per step, by the step file, and leaves the program's types as they were", async () => {
    const script = path.join(FIXTURES, "node-tensors.cjs");
    const ran = await attributed([process.execPath, script, "60"], { kind: "steps", at: [20, 30, 40, 50] });
    expect(ran.stdout).toBe("60 true true\n");
    const [top] = ran.attribution.lines;
    expect(top).toMatchObject({ file: script, function: "observe", keptBy: "the array `history`" });
    expect((top?.bytesPerStep ?? 0) / (4096 * 4)).toBeCloseTo(1, 1);
  });

  it("keeps no process alive, prints nothing, and sees worker threads", async () => {
    const script = path.join(FIXTURES, "node-worker.cjs");
    const ran = await attributed([process.execPath, script, "5"], { kind: "seconds", at: LATE_TOO });
    expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" });
    expect(ran.attribution.lines[0]).toMatchObject({ file: script, keptBy: "the array `kept`" });
  });
});
