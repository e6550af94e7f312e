import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import * as v from "valibot";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseMeasurements } from "../../analysis/parse-measurements.ts";
import { stormlogReport } from "../documents/envelope.ts";
import { parseStormlogReport, StormlogReportSchema } from "../documents/parse-report.ts";
import type { GateReport } from "../model/gate-report.ts";
import { renderTerminal } from "../terminal/terminal.ts";
import { sampleAnalysis, sampleRecordingInfo, sampleReport, sampleScenario } from "../testing/sample-report.ts";
import { renderTimelineSvg } from "../timeline/timeline-svg.ts";
import { BundleManifestSchema, prepareBundle, readManifest, writeBundle } from "./bundle.ts";
import { readBundle } from "./read-bundle.ts";

let directory: string;
beforeEach(async () => {
  directory = path.join(await mkdtemp(path.join(os.tmpdir(), "bundle-")), "b");
});
afterEach(() => rm(path.dirname(directory), { recursive: true, force: true }));

const START = { argv: ["run"], createdIso: "2026-11-20T09:41:12.000Z" };
/** Drawing takes most of the time of a bundle. */
const withoutPicture = (report: GateReport): GateReport => ({
  ...report,
  scenarios: report.scenarios.map((scenario) => ({ ...scenario, timeline: null })),
});
const json = async (name: string) => JSON.parse(await readFile(path.join(directory, name), "utf8"));

describe("a bundle", () => {
  it("contains every report, and a manifest with the size and digest of every file, runs included", async () => {
    await prepareBundle(directory, START);
    await mkdir(path.join(directory, "runs/train-mlp/1"), { recursive: true });
    await writeFile(path.join(directory, "runs/train-mlp/1/output.log"), "hello\n");
    const { manifest } = await writeBundle(directory, sampleReport("fail"));
    expect(manifest).toEqual(v.parse(BundleManifestSchema, await json("manifest.json")));
    expect(manifest).toMatchObject({ version: 1, exit_code: 4, risk_detected: true, complete: true, missing: [] });
    expect(manifest.files.map((file) => file.path)).toEqual([
      "measurements.json",
      "report.json",
      "runs/train-mlp/1/output.log",
      "summary.md",
      "timeline-dark.png",
      "timeline.html",
      "timeline.png",
    ]);
    for (const file of manifest.files) {
      const bytes = await readFile(path.join(directory, file.path));
      expect(file.bytes).toBe(bytes.length);
      expect(file.sha256).toBe(createHash("sha256").update(bytes).digest("hex"));
    }
    const names = await readdir(directory, { recursive: true });
    expect(names.filter((name) => /event|track|telemetry|\.partial$/.test(name))).toEqual([]);
  });

  it("reads back as the same report, from which picture and text can be rendered again", async () => {
    for (const verdict of ["pass", "warn", "fail", "unjudged", "error"] as const) {
      const report = sampleReport(verdict);
      await prepareBundle(directory, START);
      await writeBundle(directory, report);
      const read = await readBundle(directory);
      expect(v.is(StormlogReportSchema, read.envelope)).toBe(true);
      const strip = (one: typeof report) => ({
        ...one,
        scenarios: one.scenarios.map((s) => ({ ...s, timeline: null })),
      });
      expect(strip(read.report)).toEqual(strip(report));
      const peak = (one: typeof report) => Math.max(...one.scenarios[0]!.timeline!.series[0]!.bytes);
      expect(peak(read.report)).toBe(peak(report));
      expect(renderTimelineSvg(read.report.scenarios[0]!.timeline!)).toContain(">train-mlp: ");
      const look = { color: false, width: 100 };
      expect(renderTerminal(read.report, look).split("\n")[0]).toBe(renderTerminal(report, look).split("\n")[0]);
    }
  });

  it("report.json is not indented where a report has many ranks", async () => {
    const report = withoutPicture(sampleReport("pass"));
    const [scenario] = report.scenarios;
    const runs = (ranks: number) =>
      scenario!.runs.map((run) => ({
        ...run,
        analysis: sampleAnalysis({
          ranks: { ...sampleAnalysis().ranks, participating_ranks: Array.from({ length: ranks }, (_, rank) => rank) },
        }),
      }));
    for (const ranks of [64, 65]) {
      await prepareBundle(directory, START);
      await writeBundle(directory, { ...report, scenarios: [{ ...scenario!, runs: runs(ranks) }] });
      const text = await readFile(path.join(directory, "report.json"), "utf8");
      expect(text.split("\n").length === 2).toBe(ranks === 65);
      expect((await readBundle(directory)).report.verdict).toBe("pass");
    }
  });

  it("a manifest is read up to a size that fits into memory", async () => {
    await prepareBundle(directory, START);
    await writeBundle(directory, withoutPicture(sampleReport("pass")));
    const file = path.join(directory, "manifest.json");
    await writeFile(file, `${await readFile(file, "utf8")}${" ".repeat(65 * 2 ** 20)}`);
    expect((await readManifest(directory)).exit_code).toBe(0);
    await truncate(file, 2 ** 40);
    await expect(readManifest(directory)).rejects.toMatchObject({ code: "INPUT_TOO_LARGE" });
  });

  it("a bundle has measurements of the candidate runs that succeeded", async () => {
    const good = sampleScenario("fail").runs[0]!;
    const failed = { ...good, info: sampleRecordingInfo({ exit: { kind: "exited", code: 7 } }) };
    const scenario = sampleScenario("fail", { runs: [good, failed, { ...good, role: "base" }] });
    await writeBundle(directory, withoutPicture(sampleReport("fail", { scenarios: [scenario] })));
    const measurements = parseMeasurements(await json("measurements.json"), "x");
    expect(measurements.runs).toHaveLength(1);
    expect(measurements.runs[0]!.series[0]).toMatchObject({
      metric: "allocated",
      peak_bytes: 2018508800,
      class: "leak",
    });
  });

  it("a bundle has a measurements file for each of several scenarios", async () => {
    const other = sampleScenario("pass", { scenario: "serve" });
    const runs = [{ ...other.runs[0]!, directory: "runs/serve/1" }];
    await mkdir(path.join(directory, "runs/serve"), { recursive: true });
    await mkdir(path.join(directory, "runs/train-mlp"), { recursive: true });
    const scenarios = [{ ...other, runs }, sampleScenario("fail")];
    await writeBundle(directory, withoutPicture(sampleReport("fail", { scenarios })));
    expect((await json("measurements.json")).scenario).toBe("train-mlp");
    expect((await json("runs/serve/measurements.json")).scenario).toBe("serve");
  });

  it("lists what is missing when nothing was measured", async () => {
    const scenario = sampleScenario("error", { timeline: null, runs: [] });
    const { manifest } = await writeBundle(directory, sampleReport("error", { scenarios: [scenario] }));
    expect(manifest.complete).toBe(false);
    expect(manifest.missing).toEqual([
      { path: "timeline.png", reason: "nothing was measured" },
      { path: "timeline-dark.png", reason: "nothing was measured" },
    ]);
    expect((await readBundle(directory)).report.verdict).toBe("error");
  });

  it("a bundle is marked incomplete when the gate was killed", async () => {
    await prepareBundle(directory, START);
    const manifest = v.parse(BundleManifestSchema, await json("manifest.json"));
    expect(manifest).toMatchObject({ exit_code: null, complete: false });
    expect(manifest.missing.map((one) => one.path)).toContain("report.json");
    await expect(readBundle(directory)).rejects.toMatchObject({ code: "BUNDLE_INCOMPLETE", exitCode: 5 });
  });

  it("replaces an earlier bundle, but never a directory with other files", async () => {
    await prepareBundle(directory, START);
    await writeBundle(directory, withoutPicture(sampleReport("fail")));
    await mkdir(path.join(directory, "runs/old/1"), { recursive: true });
    await prepareBundle(directory, START);
    expect(await readdir(directory)).toEqual([".writing", "manifest.json"]);

    const foreign = path.join(path.dirname(directory), "foreign");
    await mkdir(foreign);
    await writeFile(path.join(foreign, "thesis.tex"), "years of work");
    await expect(prepareBundle(foreign, START)).rejects.toMatchObject({ code: "BUNDLE_NOT_EMPTY", exitCode: 2 });
    await writeFile(path.join(foreign, "manifest.json"), '{"name": "a web app"}');
    await expect(prepareBundle(foreign, START)).rejects.toMatchObject({ code: "BUNDLE_NOT_EMPTY" });
    expect((await readdir(foreign)).sort()).toEqual(["manifest.json", "thesis.tex"]);
  });

  it.skipIf(process.getuid?.() === 0)("reports missing permission to write", async () => {
    await mkdir(directory);
    await chmod(directory, 0o555);
    await expect(prepareBundle(directory, START)).rejects.toMatchObject({ code: "NO_PERMISSION", exitCode: 1 });
  });

  it("writes all other files when one cannot be written, and lists that one as missing", async () => {
    await mkdir(path.join(directory, "report.json"), { recursive: true });
    await expect(writeBundle(directory, sampleReport("fail"))).rejects.toMatchObject({
      code: "BUNDLE_WRITE_FAILED",
      exitCode: 1,
    });
    const manifest = v.parse(BundleManifestSchema, await json("manifest.json"));
    expect(manifest.complete).toBe(false);
    expect(manifest.missing[0]!.path).toBe("report.json");
    expect(manifest.files.map((file) => file.path)).toContain("timeline.png");
  });

  it("reports a full disk as such", async () => {
    const { writeError } = await import("./bundle-files.ts");
    // A file system that is always full.
    const failure = await writeFile("/dev/full", "x").catch((error: unknown) => error);
    expect(writeError(failure, "report.json")).toMatchObject({ code: "DISK_FULL", exitCode: 1 });
  });
});

describe("reading a bundle", () => {
  it.each([
    ["no directory", null, "INPUT_NOT_FOUND"],
    ["a truncated manifest", '{"version": 1, "cre', "INPUT_TRUNCATED"],
    ["a manifest of another program", '{"name": "web app"}', "BUNDLE_INVALID"],
  ])("refuses %s", async (_, manifest, code) => {
    if (manifest !== null) {
      await mkdir(directory);
      await writeFile(path.join(directory, "manifest.json"), manifest);
    }
    await expect(readBundle(directory)).rejects.toMatchObject({ code, exitCode: 5 });
  });

  it.each<[string, string, unknown, string]>([
    ["a future schema", "schema_version", 2, "INPUT_SCHEMA_VERSION"],
    ["another kind of report", "report_kind", "diagnose", "REPORT_INVALID"],
    ["an extra key in the closed envelope", "extra", 1, "REPORT_INVALID"],
    ["a status that contradicts its exit code", "verdict.exit_code", 0, "REPORT_INVALID"],
    ["an unknown verdict", "payload.verdict", "great", "REPORT_INVALID"],
    ["text where bytes belong", "payload.scenarios.0.judgement.checks.0.candidate_bytes", "1 GiB", "REPORT_INVALID"],
    ["a timeline of a million points", "payload.scenarios.0.timeline.marks", new Array(1e6).fill(0), "REPORT_INVALID"],
    ["no payload", "payload", undefined, "REPORT_INVALID"],
  ])("refuses a report with %s", (_, location, value, code) => {
    const report = JSON.parse(JSON.stringify(stormlogReport(sampleReport("fail"))));
    expect(() => parseStormlogReport(report, "report.json")).not.toThrow();
    const keys = location.split(".");
    const parent = keys.slice(0, -1).reduce((at, key) => at[key], report);
    parent[keys.at(-1)!] = value;
    expect(() => parseStormlogReport(report, "report.json")).toThrow(expect.objectContaining({ code, exitCode: 5 }));
  });

  it("pairs every verdict with the status and exit code of Stormlog's contract", () => {
    const pairs = (["pass", "warn", "fail", "unjudged", "error"] as const).map((given) => {
      const { verdict, payload } = stormlogReport(sampleReport(given));
      return [given, verdict.status, verdict.exit_code, payload?.verdict];
    });
    expect(pairs).toEqual([
      ["pass", "pass", 0, "pass"],
      ["warn", "findings", 3, "warn"],
      ["fail", "gate_failed", 4, "fail"],
      ["unjudged", "findings", 3, "unjudged"],
      ["error", "error", 1, "error"],
    ]);
    expect(stormlogReport(sampleReport("error", { exit_code: 130 })).verdict).toMatchObject({
      status: "interrupted",
      exit_code: 130,
    });
  });
});
