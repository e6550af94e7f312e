import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { cli } from "./cli.ts";

const cwd = mkdtempSync(path.join(tmpdir(), "gate-vary-"));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

/** Holds N x N pieces of 128 KiB, for longer than a busy machine keeps the sampler from running. */
const PROGRAM =
  "const n = Number(process.argv[1]); const held = Buffer.alloc(n * n * 131072, 1); setTimeout(() => held.length, 1000)";

describe.skipIf(process.platform !== "linux")("`run --vary`", () => {
  it("measures each value, finds the exponent, predicts what fits, and fails above the limit of the policy", async () => {
    const config = {
      scenarios: [{ name: "square", run: [process.execPath, "-e", PROGRAM, "{N}"] }],
      policy: { scaling: { "max-exponent": 1.2 } },
    };
    writeFileSync(path.join(cwd, "stormlog-gate.yml"), JSON.stringify(config));
    const values = ["8", "16", "24", "32", "40"];
    const size = `${100 * 100 * 131072}`;
    const run = await cli(["run", "--baseline", "none", "--vary", `N=${values.join(",")}`, "--fits", `card=${size}`], {
      cwd,
    });
    expect(run.code, run.stderr).toBe(4);
    const { payload } = JSON.parse(readFileSync(path.join(cwd, "stormlog-bundle", "report.json"), "utf8"));
    expect(payload.scenarios.map(({ scenario }: { scenario: string }) => scenario)).toEqual(
      values.map((value) => `square@N=${value}`),
    );
    const [scaling] = payload.scaling;
    // One interval in twenty has not the true exponent in it: how often, the unit tests of the law count.
    expect(scaling.fit.low).toBeGreaterThan(1.2);
    expect(scaling.fit.low).toBeLessThan(2.1);
    expect(scaling.fit.high).toBeGreaterThan(1.9);
    const [{ largest }] = scaling.fits;
    // Node itself takes about 40 MiB of the size.
    expect(Math.abs(largest.value / 98.4 - 1)).toBeLessThan(0.03);
    expect(run.stdout + run.stderr).toMatch(/scaling fail: the exponent is [12]\.\d\d/);
    const fixed = { ...config, scenarios: [{ name: "one", run: [process.execPath, "-e", PROGRAM, "8"] }] };
    writeFileSync(path.join(cwd, "stormlog-gate.yml"), JSON.stringify(fixed));
    const plain = await cli(["run", "--baseline", "none"], { cwd });
    expect(plain.stdout + plain.stderr).toContain("note: policy.scaling was not checked");
  });
});
