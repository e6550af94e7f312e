import { describe, expect, it } from "vitest";
import { GateError } from "../core/errors.ts";
import { analyze } from "./analyze.ts";
import { measuredRun } from "./measured-run.ts";
import { parseMeasurements, skippedMetrics } from "./parse-measurements.ts";
import { recordingOf, tableOf } from "./testing/recordings.ts";

const document = (run: unknown) => ({ schema: "stormlog.measurements/1", scenario: "train", runs: [run] });

function errorOf(json: unknown): GateError {
  try {
    parseMeasurements(json, "m.json");
  } catch (error) {
    if (error instanceof GateError) return error;
    throw error;
  }
  throw new Error("no error was thrown");
}

describe("parseMeasurements", () => {
  it("resolves the shorthand to rank 0 on the first device, and host metrics to the host", () => {
    const metrics = {
      host_peak_bytes: 7,
      allocated_growth_bytes: -3,
      allocated_peak_bytes: 100,
      allocated_class: "flat",
    };
    expect(parseMeasurements(document({ session: "s1", metrics }), "m.json")).toEqual({
      scenario: "train",
      fingerprint: null,
      runs: [
        {
          session: "s1",
          commit: null,
          series: [
            { rank: 0, device: "cuda:0", metric: "allocated", peak_bytes: 100, growth_bytes: -3, class: "flat" },
            { rank: 0, device: "host", metric: "host", peak_bytes: 7 },
          ],
        },
      ],
    });
  });

  it("reads the output of measuredRun, through JSON", () => {
    const analysis = analyze(
      recordingOf([tableOf({ allocated: new Float64Array(30).fill(5), used: new Float64Array(30).fill(Number.NaN) })]),
    );
    const run = measuredRun(analysis, { session: "s", commit: "abc" });
    expect(run.series[1]).toMatchObject({ metric: "used", peak_bytes: null, growth_bytes: null, class: "unavailable" });
    expect(parseMeasurements(JSON.parse(JSON.stringify(document(run))), "m.json").runs[0]).toEqual(run);
  });

  it("parses the keys of the reserved metric", () => {
    const { runs } = parseMeasurements(
      document({ session: "s", metrics: { reserved_slope_bytes_per_step: 2.5 } }),
      "m.json",
    );
    expect(runs[0]?.series).toEqual([
      { rank: 0, device: "cuda:0", metric: "reserved", peak_bytes: null, slope_bytes_per_step: 2.5 },
    ]);
  });

  it("skips series of metrics that it does not know, and lists each once", () => {
    const series = ["host", "newer_metric"].map((metric) => ({ rank: 0, device: "host", metric, peak_bytes: 1 }));
    const run = { session: "s", series };
    const read = parseMeasurements({ ...document(run), runs: [run, run] }, "m.json");
    expect(read.runs.map((one) => one.series.map(({ metric }) => metric))).toEqual([["host"], ["host"]]);
    expect(skippedMetrics("m.json", read)).toEqual([
      "m.json has the metric newer_metric, unknown to this version: skipped",
    ]);
    expect(skippedMetrics("m.json", parseMeasurements(document({ ...run, series: [] }), "m.json"))).toEqual([]);
  });

  it.each([
    ["an unknown key", document({ session: "s", metrics: { alocated_peak_bytes: 1 } }), "alocated_peak_bytes"],
    ["a bare metric", document({ session: "s", metrics: { allocated: 1 } }), '"allocated"'],
    [
      "a negative peak",
      document({ session: "s", metrics: { allocated_peak_bytes: -1 } }),
      "metrics.allocated_peak_bytes",
    ],
    [
      "a string for a number",
      document({ session: "s", metrics: { host_growth_bytes: "many" } }),
      "metrics.host_growth_bytes",
    ],
    ["an unknown class", document({ session: "s", metrics: { allocated_class: "fine" } }), "metrics.allocated_class"],
    ["a run without measurements", document({ session: "s" }), "neither"],
    ["a missing session", document({ metrics: {} }), "runs.0.session"],
    ["no document", 7, "the document"],
    ["another schema", { schema: "stormlog.analysis/1" }, "schema"],
    [
      "a series given twice",
      document({
        session: "s",
        metrics: { host_peak_bytes: 1 },
        series: [{ rank: 0, device: "host", metric: "host", peak_bytes: 2 }],
      }),
      "present twice",
    ],
  ])("rejects %s and names the location", (_name, json, text) => {
    const error = errorOf(json);
    expect(error.code).toBe("MEASUREMENTS_INVALID");
    expect(error.exitCode).toBe(5);
    expect(error.message).toContain(text);
    expect(error.where).toContain("m.json");
  });

  it("rejects a file of a newer version", () => {
    const error = errorOf({ ...document({}), schema: "stormlog.measurements/2" });
    expect(error.code).toBe("INPUT_SCHEMA_VERSION");
    expect(error.exitCode).toBe(5);
  });
});
