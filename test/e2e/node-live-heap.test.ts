import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it } from "vitest";
import { gateRequest } from "../../src/config/options.ts";
import { runGate } from "../../src/gate/run-gate.ts";
import { silentPorts } from "../testing/silent-ports.ts";

/**
 * Handles buffers of 60 kB, 24 MiB in all, and keeps the last ten; with KEEP all of them. Runs for longer than a thread
 * whose heap is read at its end.
 */
const PROGRAM = `
import { setTimeout as pause } from "node:timers/promises";
export const frames = [];
for (let i = 0; i < 400 || performance.now() < 1200; i += 1) {
  if (i < 400) frames.push(Buffer.alloc(60_000, i % 256));
  if (frames.length > 10 && !process.env.KEEP) frames.shift();
  await pause(2);
}
`;

const root = mkdtempSync(path.join(tmpdir(), "stormlog-live-heap-"));
const program = path.join(root, "program.mjs");
writeFileSync(program, PROGRAM);
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function gate(bundle: string, options: Record<string, unknown>, env: Record<string, string> = {}) {
  const { report } = await runGate(
    gateRequest({
      options: { bundle: path.join(root, bundle), "base-run": "off", attribute: "off", ...options },
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
}

it("a Node program that keeps its buffers fails against a baseline of five runs, and the same without that passes", async () => {
  await gate("five", { baseline: ["none"], repeats: "5" });
  const baseline = [`bundle:${path.join(root, "five")}`];
  const peakOf = ({ judgement }: Awaited<ReturnType<typeof gate>>) =>
    judgement?.checks.find(({ metric, kind }) => metric === "js_heap" && kind === "peak");
  const leaky = await gate("leaky", { baseline }, { KEEP: "1" });
  expect([leaky.verdict, peakOf(leaky)?.verdict], leaky.judgement?.reason).toEqual(["fail", "fail"]);
  expect(peakOf(leaky)?.candidate_bytes).toBeGreaterThan(24_000_000);
  const clean = await gate("clean", { baseline });
  expect(peakOf(clean)?.verdict).toBe("pass");
  expect(clean.verdict, clean.judgement?.reason).not.toBe("fail");
}, 240_000);
