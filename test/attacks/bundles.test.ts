import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { exportBundle } from "../../src/inputs/export-bundle.ts";
import { EXPORT_FORMATS } from "../../src/inputs/export-format.ts";
import { judgeableInput } from "../../src/inputs/measurements-input.ts";
import { readInput } from "../../src/inputs/telemetry-input.ts";
import { prepareBundle, writeBundle } from "../../src/report/bundle/bundle.ts";
import { readBundle } from "../../src/report/bundle/read-bundle.ts";
import { sampleReport, sampleScenario } from "../../src/report/testing/sample-report.ts";

/** Bundles that were edited after the gate had written them. */
describe("a bundle that was edited", () => {
  let bundle: string;
  const at = (name: string): string => path.join(bundle, name);
  const corrupt = (name: string) => ({
    code: "BUNDLE_CORRUPT",
    exitCode: 5,
    message: `files differ from the manifest: ${name}`,
  });

  beforeEach(async () => {
    bundle = mkdtempSync(path.join(tmpdir(), "edited-"));
    await prepareBundle(bundle, { argv: ["stormlog-gate"], createdIso: "2026-01-01T00:00:00Z" });
    mkdirSync(at("runs/train-mlp/1"), { recursive: true });
    writeFileSync(at("runs/train-mlp/1/recording.json"), "{}");
    writeFileSync(at("runs/train-mlp/1/samples.parquet"), "PAR1");
    await writeBundle(bundle, sampleReport("fail"));
  });
  afterEach(() => rmSync(bundle, { recursive: true, force: true }));

  const edit = (name: string, change: (text: string) => string): void =>
    writeFileSync(at(name), change(readFileSync(at(name), "utf8")));

  it("a bundle as the gate wrote it is read, as a control", async () => {
    expect(await readBundle(bundle)).toMatchObject({ note: null, report: { verdict: "fail" } });
    expect((await exportBundle(bundle, "junit")).note).toBeNull();
    expect(await judgeableInput(bundle)).toMatchObject({ scenarios: [{ measurements: { scenario: "train-mlp" } }] });
  });

  it("a report with every fail made a pass is not shown, and not exported in any format that reads it", async () => {
    edit("report.json", (text) => text.replaceAll('"fail"', '"pass"'));
    await expect(readBundle(bundle)).rejects.toMatchObject(corrupt("report.json"));
    for (const format of ["json", "junit", "sarif"] as const) {
      await expect(exportBundle(bundle, format), format).rejects.toMatchObject(corrupt("report.json"));
    }
  });

  it("a report of the same length is not shown either", async () => {
    edit("report.json", (text) => text.replace("train-mlp", "train-mlq"));
    await expect(readBundle(bundle)).rejects.toMatchObject(corrupt("report.json"));
  });

  it.each([
    ["timeline.html", "html"],
    ["timeline.png", "png"],
    ["runs/train-mlp/1/samples.parquet", "parquet"],
  ] as const)("an edited %s is not exported", async (name, format) => {
    expect(EXPORT_FORMATS).toContain(format);
    expect((await exportBundle(bundle, format)).bytes.length).toBeGreaterThan(0);
    edit(name, (text) => `${text} `);
    await expect(exportBundle(bundle, format)).rejects.toMatchObject(corrupt(name));
  });

  it("edited measurements are not judged", async () => {
    edit("measurements.json", (text) => text.replace(/"peak_bytes": \d+/, '"peak_bytes": 1'));
    await expect(judgeableInput(bundle)).rejects.toMatchObject(corrupt("measurements.json"));
  });

  it("a bundle of several scenarios without the measurements of one is not judged by the others", async () => {
    const other = sampleScenario("pass", { scenario: "serve" });
    const serve = { ...other, runs: [{ ...other.runs[0]!, directory: "runs/serve/1" }] };
    mkdirSync(at("runs/serve/1"), { recursive: true });
    await writeBundle(bundle, sampleReport("fail", { scenarios: [sampleScenario("fail"), serve] }));
    const { several, scenarios } = await judgeableInput(bundle);
    expect([several, scenarios.map(({ measurements }) => measurements.scenario)]).toEqual([
      true,
      ["serve", "train-mlp"],
    ]);
    rmSync(at("runs/serve/measurements.json"));
    await expect(judgeableInput(bundle)).rejects.toMatchObject(corrupt("runs/serve/measurements.json"));
  });

  it("edited recordings are not analysed, nor one that was added", async () => {
    edit("runs/train-mlp/1/recording.json", () => '{"a":1}');
    await expect(readInput(bundle)).rejects.toMatchObject(corrupt("runs/train-mlp/1/recording.json"));
    edit("runs/train-mlp/1/recording.json", () => "{}");
    mkdirSync(at("runs/train-mlp/2"));
    writeFileSync(at("runs/train-mlp/2/samples.parquet"), "PAR1");
    await expect(readInput(bundle)).rejects.toMatchObject(corrupt("runs/train-mlp/2/samples.parquet"));
  });

  it("a file that the command does not read may be edited or missing", async () => {
    edit("summary.md", () => "notes");
    rmSync(at("timeline.png"));
    expect(await readBundle(bundle)).toMatchObject({ note: null });
  });

  it("a bundle whose manifest lists no digests is read with one note", async () => {
    edit("manifest.json", (text) => JSON.stringify({ ...JSON.parse(text), files: [] }));
    const note = "this bundle is not verified: its manifest lists no digests";
    expect(await readBundle(bundle)).toMatchObject({ note, report: { verdict: "fail" } });
    expect((await exportBundle(bundle, "sarif")).note).toBe(note);
    expect((await judgeableInput(bundle)).notes).toEqual([note]);
  });

  it("a manifest without the report's entry does not let an edited report pass", async () => {
    edit("report.json", (text) => text.replaceAll('"fail"', '"pass"'));
    edit("manifest.json", (text) => {
      const manifest = JSON.parse(text);
      return JSON.stringify({
        ...manifest,
        files: manifest.files.filter((one: { path: string }) => one.path !== "report.json"),
      });
    });
    await expect(readBundle(bundle)).rejects.toMatchObject(corrupt("report.json"));
  });
});
