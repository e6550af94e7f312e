import { spawnSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { attributed, FIXTURES, hasTorch, PYTHON } from "./testing/attributed.ts";

describe.skipIf(!hasTorch)("attribution of PyTorch's corners", () => {
  it("changes no visible behaviour: subclasses, scripts, higher derivatives, checkpoints, threads, modes", async () => {
    const script = path.join(FIXTURES, "torch_corners.py");
    const alone = spawnSync(PYTHON, ["-W", "ignore", script], { encoding: "utf8", timeout: 60_000 });
    const at = [1, 3, 4, 5, 8, 11];
    const ran = await attributed([PYTHON, "-W", "ignore", script], { kind: "steps", at }, { timeoutMs: 90_000 });
    expect(alone.status, alone.stderr).toBe(0);
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stdout).toBe(alone.stdout);
    expect(ran.stderr).not.toMatch(/stormlog|Traceback/);
    expect(ran.processes.flatMap(({ moments }) => moments).length).toBeGreaterThanOrEqual(12);
  }, 180_000);
});
