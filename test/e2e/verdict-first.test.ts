import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { gateRequest } from "../../src/config/options.ts";
import type { GatePorts } from "../../src/gate/ports.ts";
import { runGate } from "../../src/gate/run-gate.ts";
import type { GateReport } from "../../src/report/documents/model.ts";

describe("the verdict", () => {
  const root = mkdtempSync(path.join(tmpdir(), "stormlog-verdict-first-"));
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  const request = (bundle: string) =>
    gateRequest({
      options: { bundle: path.join(root, bundle), "base-run": "off" },
      command: { kind: "argv", argv: ["sleep", "0.3"] },
      config: null,
      root,
      defaultBaselines: [],
      defaultUnjudged: "warn",
      argv: [],
      env: { PATH: process.env.PATH },
    });
  const run = (bundle: string, decided: GatePorts["decided"]) =>
    runGate(request(bundle), {
      log: () => {},
      stdout: null,
      stderr: null,
      progress: null,
      interrupt: new AbortController().signal,
      now: () => new Date(),
      ...(decided && { decided }),
    });

  it("is known before the evidence is drawn and written", async () => {
    const known: { readonly report: GateReport; readonly written: boolean }[] = [];
    const evidence = path.join(root, "known", "report.json");
    const outcome = await run("known", async (report) => void known.push({ report, written: existsSync(evidence) }));
    expect(known).toEqual([{ report: outcome.report, written: false }]);
    expect(existsSync(evidence)).toBe(true);
  });

  it("costs no evidence where it cannot be printed", async () => {
    const failed = run("unprinted", () => Promise.reject(new Error("the disk behind the output is full")));
    await expect(failed).rejects.toThrow("the disk behind the output is full");
    expect(existsSync(path.join(root, "unprinted", "manifest.json"))).toBe(true);
    expect(existsSync(path.join(root, "unprinted", "report.json"))).toBe(true);
  });
});
