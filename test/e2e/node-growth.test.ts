import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { gateRequest } from "../../src/config/options.ts";
import { runGate } from "../../src/gate/run-gate.ts";
import { silentPorts } from "../testing/silent-ports.ts";

/**
 * Objects live for a moment, long enough to become old. With KEEP they stay for ever: 12 MiB a second, and 40 MiB
 * in all on a slow machine.
 */
const PROGRAM = `
import { setTimeout as pause } from "node:timers/promises";
const recent = [];
const kept = [];
let made = 0;
const end = performance.now() + 3500;
while (performance.now() < end || made < 200_000) {
  for (let i = 0; i < 800; i += 1) {
    made += 1;
    const entry = { made, text: String(made), more: [made, i, made + i, made * i] };
    recent[made % 20_000] = entry;
    if (process.env.KEEP) kept.push(entry);
  }
  await pause(10);
}
`;

describe("a Node program without a baseline", () => {
  const root = mkdtempSync(path.join(tmpdir(), "stormlog-node-growth-"));
  const program = path.join(root, "program.mjs");
  writeFileSync(program, PROGRAM);
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  const gate = async (bundle: string, env: Record<string, string>) => {
    const { report } = await runGate(
      gateRequest({
        options: { bundle: path.join(root, bundle), "base-run": "off", baseline: ["none"], attribute: "off" },
        command: { kind: "argv", argv: [process.execPath, program] },
        config: null,
        root,
        defaultBaselines: [],
        defaultUnjudged: "warn",
        argv: [],
        env: { PATH: process.env.PATH, ...env },
      }),
      silentPorts(),
    );
    const [scenario] = report.scenarios;
    if (scenario === undefined) throw new Error("one scenario was asked for");
    return scenario;
  };

  it("fails by what its heap keeps when V8 collects, and is stored as it runs without that", async () => {
    const { verdict, runs, judgement } = await gate("leaky", { KEEP: "1" });
    expect([verdict, judgement?.reason]).toEqual([
      "fail",
      expect.stringMatching(/^JavaScript heap on host: leak of .* in 2 of 2 runs/),
    ]);
    expect(runs.map(({ role }) => role)).toEqual(["candidate", "candidate", "superseded"]);
    expect(runs.map(({ directory }) => path.basename(directory))).toEqual(["2", "3", "1"]);
    const stored = JSON.parse(readFileSync(path.join(root, "leaky", "measurements.json"), "utf8"));
    expect(stored.runs).toHaveLength(1);
    expect(stored.runs[0].series.map(({ metric }: { metric: string }) => metric)).not.toContain("js_heap");
  }, 60_000);

  it("does not fail by what V8 has not collected yet", async () => {
    const { verdict, judgement } = await gate("tide", {});
    // On a busy machine V8's pages may still rise: that warns.
    expect(["unjudged", "warn"], judgement?.reason).toContain(verdict);
  }, 60_000);
});
