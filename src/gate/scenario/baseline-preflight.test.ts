import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { gateRequest } from "../../config/options.ts";
import { readBaselines } from "./baseline-preflight.ts";

const root = mkdtempSync(path.join(tmpdir(), "stormlog-gate-preflight-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const check = async (...baseline: string[]): Promise<void> => {
  await readBaselines(
    gateRequest({
      options: { baseline },
      command: { kind: "argv", argv: ["true"] },
      config: null,
      root,
      defaultBaselines: [],
      defaultUnjudged: "fail",
      argv: [],
      env: {},
    }),
    { now: () => new Date() },
  );
};

describe("the check of baselines before anything runs", () => {
  it("accepts absent stores, empty stores, and no baseline", async () => {
    await expect(check("file:absent")).resolves.toBeUndefined();
    await expect(check("none")).resolves.toBeUndefined();
  });

  it("rejects a named file that is absent, cut or of a future schema", async () => {
    writeFileSync(path.join(root, "cut.json"), '{"schema": "stormlog.mea');
    writeFileSync(path.join(root, "future.json"), '{"schema": "stormlog.baseline/9"}');
    await expect(check("absent.json")).rejects.toMatchObject({ code: "INPUT_NOT_FOUND", exitCode: 5 });
    await expect(check("cut.json")).rejects.toMatchObject({ code: "INPUT_TRUNCATED", exitCode: 5 });
    await expect(check("future.json")).rejects.toMatchObject({ code: "INPUT_SCHEMA_VERSION", exitCode: 5 });
  });

  it("rejects a spec that names nothing", async () => {
    await expect(check("file:absent", "ref:")).rejects.toMatchObject({ code: "BASELINE_SPEC_INVALID", exitCode: 2 });
  });

  it("rejects a baseline that the run's bundle would replace", async () => {
    await expect(check("bundle:stormlog-bundle")).rejects.toMatchObject({ code: "BASELINE_IN_BUNDLE", exitCode: 2 });
    await expect(check("stormlog-bundle/measurements.json")).rejects.toMatchObject({ code: "BASELINE_IN_BUNDLE" });
    symlinkSync(".", path.join(root, "link"));
    await expect(check("bundle:link/stormlog-bundle")).rejects.toMatchObject({ code: "BASELINE_IN_BUNDLE" });
    await expect(check("bundle:stormlog-bundle-old")).rejects.toMatchObject({ code: "INPUT_NOT_FOUND" });
  });
});
