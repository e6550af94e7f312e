import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { gateRequest } from "../../src/config/options.ts";
import type { GatePorts } from "../../src/gate/ports/ports.ts";
import { runGate } from "../../src/gate/run-gate.ts";
import type { GateReport } from "../../src/report/model/gate-report.ts";
import { silentPorts } from "../testing/silent-ports.ts";

describe("the verdict", () => {
  const root = mkdtempSync(path.join(tmpdir(), "stormlog-verdict-first-"));
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  const request = (bundle: string, argv: readonly string[], repeats: string) =>
    gateRequest({
      options: { bundle: path.join(root, bundle), "base-run": "off", repeats },
      command: { kind: "argv", argv },
      config: null,
      root,
      defaultBaselines: [],
      defaultUnjudged: "warn",
      argv: [],
      env: { PATH: process.env.PATH },
    });
  const run = (bundle: string, decided: GatePorts["decided"], argv = ["sleep", "0.3"], repeats = "1") =>
    runGate(request(bundle, argv, repeats), {
      ...silentPorts(),
      ...(decided && { decided }),
    });

  it("the verdict is available before the evidence is drawn and written", async () => {
    const known: { readonly report: GateReport; readonly written: boolean }[] = [];
    const evidence = ["report.json", "runs/default/1/samples.parquet", "runs/default/1/events.json"].map((name) =>
      path.join(root, "known", name),
    );
    const written = () => evidence.map((file) => existsSync(file));
    const outcome = await run(
      "known",
      async (report) => void known.push({ report, written: written().includes(true) }),
    );
    expect(known).toEqual([{ report: outcome.report, written: false }]);
    expect(written()).toEqual([true, true, true]);
  });

  it("the verdict waits for the files of earlier runs, which are written before the next run begins", async () => {
    const runs = path.join(root, "two", "runs", "default");
    const script = `sleep 0.2; [ ! -d "${runs}/2" ] || [ -e "${runs}/1/samples.parquet" ]`;
    const { report } = await run("two", undefined, ["sh", "-c", script], "2");
    expect(report.scenarios[0]?.error).toBeNull();
    expect(report.cost.runs).toBe(2);
  });

  it("the verdict stands, with a warning, where a file of its run cannot be written", async () => {
    const { report, bundleError } = await run("blocked", async () => {
      mkdirSync(path.join(root, "blocked", "runs/default/1/samples.parquet/in-the-way"), { recursive: true });
    });
    expect(bundleError).toBeNull();
    expect(report.scenarios[0]?.error).toBeNull();
    expect(report.warnings).toContainEqual(expect.stringContaining("1: the samples cannot be written"));
  });

  it("the verdict costs no evidence where it cannot be printed", async () => {
    const failed = run("unprinted", () => Promise.reject(new Error("the disk behind the output is full")));
    await expect(failed).rejects.toThrow("the disk behind the output is full");
    expect(existsSync(path.join(root, "unprinted", "manifest.json"))).toBe(true);
    expect(existsSync(path.join(root, "unprinted", "report.json"))).toBe(true);
  });
});
