import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { MeasuredSeries } from "../analysis/measurements.ts";
import { DRIFT_CLASSES } from "../analysis/series/document.ts";
import { METRIC, METRICS, type Metric } from "../telemetry/recording/metrics.ts";
import { found } from "./answer.ts";
import { fingerprintHash, scenarioDirectory } from "./identity.ts";
import {
  comparedEpochs,
  earlierRuns,
  parseBaselineRecord,
  recordToMeasurements,
  selectRuns,
  toMeasurements,
} from "./record.ts";
import { acceptRuns, addRuns, emptyRecord, type NewRun, withEnvelopes } from "./record-changes.ts";
import { MAX_RECORD_BYTES, MAX_RUN_BYTES, pruneRecord, serializeRecord } from "./record-size.ts";

function newRun(index: number, series: readonly MeasuredSeries[], commit: string | null = null): NewRun {
  const timeIso = new Date(Date.UTC(2026, 0, 1, 0, index)).toISOString();
  return { measured: { session: `session-${index}`, commit, series }, timeIso, approved: true };
}

/** All series of ranks with a device each, which are of PyTorch and not of V8 or Java; one rank looks at left files. */
function everySeries(ranks: number): MeasuredSeries[] {
  const isOfRank = (metric: Metric, rank: number): boolean =>
    !METRIC[metric].isLiveHeap && metric !== "outside_heap" && (rank === 0 || !METRIC[metric].isLeftBehind);
  return Array.from({ length: ranks }, (_, rank) =>
    METRICS.filter((metric) => isOfRank(metric, rank)).map((metric) => ({
      rank,
      device: metric === "host" ? "host" : `cuda:${rank}`,
      metric,
      peak_bytes: 78_123_456_789,
      growth_bytes: 123_456_789,
      slope_bytes_per_step: 1234.567890123,
      slope_bytes_per_s: 98765.43210987,
      class: "sawtooth" as const,
    })),
  ).flat();
}

const EMPTY = emptyRecord("train", { backend: "cuda" });

describe("a baseline record", () => {
  it("stores the steps of its runs and the command of the newest accepted ones", () => {
    const series = everySeries(1);
    const made = (index: number, command: string, approved: boolean): NewRun => ({
      ...newRun(index, series),
      measured: { session: `session-${index}`, commit: null, series, steps: 200 + index, analysis_version: 1 + index },
      approved,
      command,
    });
    const first = addRuns(EMPTY, [made(0, "python3 a.py", true)]);
    const held = addRuns(first, [made(1, "python3 b.py", false)]);
    expect(held.fingerprint.command).toBe("python3 a.py");
    const accepted = acceptRuns(held, [made(2, "python3 b.py", true)], "longer");
    const read = recordToMeasurements(JSON.parse(serializeRecord(accepted)), "record");
    expect(read.fingerprint?.command).toBe("python3 b.py");
    expect(read.runs.map(({ steps, analysis_version }) => [steps, analysis_version])).toEqual([[202, 3]]);
    expect(fingerprintHash(accepted.fingerprint)).toBe(fingerprintHash(EMPTY.fingerprint));
  });

  it("returns the stored runs through its file", () => {
    const value = fc.option(fc.integer({ min: 0, max: 2 ** 45 }), { nil: null });
    const series = fc.record({
      peak_bytes: value,
      growth_bytes: value,
      slope_bytes_per_step: fc.constant(null),
      slope_bytes_per_s: fc.constant(1.5),
      class: fc.constantFrom(...DRIFT_CLASSES),
    });
    fc.assert(
      fc.property(fc.array(series, { minLength: 1, maxLength: 8 }), fc.string(), (many, scenario) => {
        const runs = many.map((one, i) => newRun(i, [{ rank: 0, device: "cuda:0", metric: "allocated", ...one }]));
        const record = pruneRecord(addRuns(emptyRecord(scenario, {}), runs));
        const read = recordToMeasurements(JSON.parse(serializeRecord(record)), "record");
        expect(read.scenario).toBe(scenario);
        expect(read.runs).toEqual(runs.map(({ measured }) => measured));
      }),
    );
  });

  it.each([1, 2, 8])("a record of %i ranks stays within its maximum size and keeps the newest runs", (ranks) => {
    const commit = "0123456789abcdef0123456789abcdef01234567";
    const many = Array.from({ length: 80 }, (_, i) => newRun(i, everySeries(ranks), commit));
    const column = Array.from({ length: 200 }, (_, i) => 78_000_000_000 + i * 1_000_003);
    const envelope = { rank: 0, device: "cuda:0", metric: "allocated" as const, time_s: column.map((_, i) => i / 7) };
    const record = pruneRecord({
      ...addRuns(EMPTY, many),
      envelopes: [{ ...envelope, low_bytes: column, mid_bytes: column, high_bytes: column }],
    });
    expect(Buffer.byteLength(serializeRecord(record))).toBeLessThanOrEqual(MAX_RECORD_BYTES);
    const runs = selectRuns(record, null);
    expect(runs.length).toBeGreaterThanOrEqual(10);
    expect(runs.at(-1)?.session).toBe("session-79");
    if (ranks < 8) for (const run of runs) expect(JSON.stringify(run).length).toBeLessThanOrEqual(MAX_RUN_BYTES);
    const kept = toMeasurements(record, runs)
      .runs.at(-1)
      ?.series.filter(({ metric }) => metric === "allocated");
    expect(kept).toHaveLength(ranks);
    expect(kept?.[0]).toMatchObject({ peak_bytes: 78_123_456_789, growth_bytes: 123_456_789, class: "sawtooth" });
  });

  it("keeps host memory beside the heap of many ranks without a device, because it gates there", () => {
    const series = Array.from({ length: 8 }, (_, rank) =>
      (["allocated", "reserved", "host"] as const).map((metric) => ({
        ...{ rank, device: "host", metric, growth_bytes: 1_234_567, class: "flat" as const },
        peak_bytes: 78_123_456_789,
      })),
    ).flat();
    const record = pruneRecord(addRuns(EMPTY, [newRun(0, series)]));
    const kept = toMeasurements(record, selectRuns(record, null)).runs[0]?.series.map(({ metric }) => metric);
    expect(kept?.filter((metric) => metric === "host")).toHaveLength(8);
    expect(kept).not.toContain("reserved");
  });

  it("skips a series of a metric that it does not know, and says so", () => {
    const record = addRuns(EMPTY, [newRun(0, everySeries(1))]);
    const stored = JSON.parse(serializeRecord(record));
    const known = recordToMeasurements(stored, "r").runs[0]!.series.length;
    stored.epochs[0].series[0][2] = "newer_metric";
    expect(recordToMeasurements(stored, "r").runs[0]!.series).toHaveLength(known - 1);
    const newer = parseBaselineRecord(stored, "r");
    expect(found("file:x", newer, selectRuns(newer, null), null, []).warnings.join()).toContain("newer_metric");
    expect(recordToMeasurements(JSON.parse(serializeRecord(record)), "r")).not.toHaveProperty("unknown_metrics");
  });

  it("stores the phases that the policy judges beside the series, and skips metrics that it does not know", () => {
    const series = everySeries(1).slice(0, 1);
    const phase: MeasuredSeries = { ...series[0]!, phase: "validation", growth_bytes: 7 };
    const record = addRuns(addRuns(EMPTY, [newRun(0, series)]), [newRun(1, [...series, phase])]);
    const stored = JSON.parse(serializeRecord(record));
    expect(stored.epochs[0].series).toHaveLength(1);
    expect(recordToMeasurements(stored, "r").runs.map((run) => run.series.map((one) => one.phase))).toEqual([
      [undefined],
      [undefined, "validation"],
    ]);
    expect(recordToMeasurements(stored, "r").runs[1]!.series[1]).toMatchObject({ growth_bytes: 7 });
    stored.epochs[0].phases[0][2] = "newer_metric";
    expect(recordToMeasurements(stored, "r").runs[1]!.series).toHaveLength(1);
    expect(recordToMeasurements(stored, "r").unknown_metrics).toEqual(["newer_metric"]);
  });

  it("skips a band of a metric that it does not know with one warning, and stores it again", () => {
    const band = { rank: 0, device: "host", time_s: [1], low_bytes: [1], mid_bytes: [2], high_bytes: [3] } as const;
    const record = withEnvelopes(addRuns(EMPTY, [newRun(0, everySeries(1))]), [
      { ...band, metric: "host" },
      { ...band, metric: "used" },
    ]);
    const stored = JSON.parse(serializeRecord(record).replaceAll('"used"', '"newer_metric"'));
    const newer = parseBaselineRecord(stored, "r");
    const answer = found("file:x", newer, selectRuns(newer, null), null, []);
    expect(answer.warnings).toEqual([
      "the baseline in file:x has the metric newer_metric, unknown to this version: skipped",
    ]);
    expect(answer.kind === "found" && answer.envelopes.map(({ metric }) => metric)).toEqual(["host"]);
    expect(JSON.parse(serializeRecord(newer))).toEqual(stored);
  });

  it("compares with the newest fifty accepted runs on ancestors only", () => {
    const one: MeasuredSeries = { rank: 0, device: "host", metric: "host", peak_bytes: 1 };
    const runs = Array.from({ length: 60 }, (_, i) => newRun(i, [one], i % 2 === 0 ? "a" : "b"));
    const record = addRuns(EMPTY, [...runs, { ...newRun(60, [one], "a"), approved: false }]);
    expect(selectRuns(record, null)).toHaveLength(50);
    expect(selectRuns(record, new Set(["a"]))).toHaveLength(30);
    expect(selectRuns(record, new Set())).toHaveLength(0);
  });

  it("stores no value of a series whose samples end early", () => {
    const host = { rank: 0, device: "host" };
    const series: MeasuredSeries[] = [
      { ...host, metric: "allocated", peak_bytes: 1, cut: true },
      { ...host, metric: "host", peak_bytes: 2 },
    ];
    const record = addRuns(EMPTY, [newRun(1, series)]);
    expect(toMeasurements(record, selectRuns(record, null)).runs[0]?.series).toMatchObject([{ metric: "host" }]);
  });

  it("compares with the accepted runs alone after a change of level was accepted", () => {
    const old = newRun(1, [{ rank: 0, device: "host", metric: "host", peak_bytes: 1 }]);
    const next = newRun(2, [{ rank: 0, device: "host", metric: "host", peak_bytes: 9 }]);
    const record = acceptRuns(addRuns(EMPTY, [old]), [next], "larger batch");
    expect(selectRuns(record, null).map(({ session }) => session)).toEqual(["session-2"]);
    expect(record.epochs).toHaveLength(2);
  });

  describe("with an accepted level of fewer than five runs", () => {
    const heap = (peak: number, growth: number): MeasuredSeries => ({
      rank: 0,
      device: "host",
      metric: "allocated",
      peak_bytes: peak,
      growth_bytes: growth,
      slope_bytes_per_step: null,
      slope_bytes_per_s: growth / 10,
      class: growth > 5000 ? "leak" : "flat",
    });
    const old = addRuns(
      EMPTY,
      [10, 12, 11, 14, 13, 12].map((peak, i) => newRun(i, [heap(peak, 10 * i)], i % 2 === 0 ? "a" : "b")),
    );
    const accepted = acceptRuns(old, [newRun(10, [heap(112, 9025)])], "a cache");

    it("a newly accepted level has the earlier runs' spread and sessions, and its own class", () => {
      const earlier = earlierRuns(accepted, selectRuns(accepted, null), null);
      // One accepted run: around it lie the differences of two runs, in proportion to the higher level.
      const around = (middle: number, share: number, differences: readonly number[]) =>
        differences.map((one) => expect.closeTo(middle + share * one, 6));
      expect(earlier.map(({ series }) => series[0]?.peak_bytes)).toEqual(around(112, 112 / 12, [-4, 0, -2, 4, 2, 0]));
      expect(earlier.map(({ series }) => series[0]?.growth_bytes)).toEqual(
        around(9025, 9025 / 25, [-50, -30, -10, 10, 30, 50]),
      );
      expect(earlier.map(({ session }) => session)).toEqual([0, 1, 2, 3, 4, 5].map((i) => `session-${i}`));
      expect(new Set(earlier.map(({ series }) => series[0]?.class))).toEqual(new Set(["leak"]));
      expect(earlier[0]?.series[0]?.slope_bytes_per_step).toBeNull();
    });

    it("keeps the spread at a lower level, and narrows it with each accepted run", () => {
      const lower = acceptRuns(old, [newRun(10, [heap(6, 0)]), newRun(11, [heap(6, 0)])], "smaller");
      const peaks = earlierRuns(lower, selectRuns(lower, null), null).map(({ series }) => series[0]?.peak_bytes);
      const narrowed = Math.sqrt((1 + 1 / 2) / 2);
      expect(peaks).toEqual([-4, 0, -2, 4, 2, 0].map((one) => expect.closeTo(6 + narrowed * one, 6)));
    });

    it("an accepted level has no earlier runs once it has five of its own, or where too few are comparable", () => {
      const enough = addRuns(
        accepted,
        [11, 12, 13, 14].map((i) => newRun(i, [heap(112, 0)])),
      );
      expect(earlierRuns(enough, selectRuns(enough, null), null)).toEqual([]);
      expect(earlierRuns(accepted, selectRuns(accepted, null), new Set(["a"]))).toEqual([]);
      const fresh = acceptRuns(EMPTY, [newRun(1, [heap(1, 1)])], "first");
      expect(earlierRuns(fresh, selectRuns(fresh, null), null)).toEqual([]);
    });

    it("uses the newest earlier epoch with enough runs after two acceptances", () => {
      const twice = acceptRuns(accepted, [newRun(11, [heap(500, 0)])], "again");
      const peaks = earlierRuns(twice, selectRuns(twice, null), null).map(({ series }) => series[0]?.peak_bytes);
      expect(peaks?.map((peak) => Math.sign((peak ?? 0) - 500))).toEqual([-1, 0, -1, 1, 1, 0]);
      expect(comparedEpochs(twice)).toEqual([twice.epochs[0], twice.epochs[2]]);
    });

    it("keeps at least ten of them when the record is too large", () => {
      const many = Array.from({ length: 80 }, (_, i) => newRun(i, everySeries(1)));
      const record = pruneRecord(acceptRuns(addRuns(EMPTY, many), [newRun(90, everySeries(1))], "more"));
      expect(Buffer.byteLength(serializeRecord(record))).toBeLessThanOrEqual(MAX_RECORD_BYTES);
      expect(record.epochs).toHaveLength(2);
      expect(record.epochs[0]?.runs.length).toBeGreaterThanOrEqual(10);
      expect(record.epochs[1]?.runs).toHaveLength(1);
    });
  });

  it.each([
    [null, "BASELINE_INVALID"],
    [{ schema: "stormlog.baseline/2" }, "INPUT_SCHEMA_VERSION"],
    [{ schema: "stormlog.baseline/1", scenario: 3 }, "BASELINE_INVALID"],
  ])("rejects %j with a stable code", (json, code) => {
    expect(() => parseBaselineRecord(json, "x.json")).toThrow(expect.objectContaining({ code }));
  });
});

describe("names in a store", () => {
  it("names in a store depend on identity fields only", () => {
    const one = fingerprintHash({ backend: "cuda", world_size: 2, driver: "550", mig_profile: null });
    expect(one).toMatch(/^[0-9a-f]{16}$/);
    expect(fingerprintHash({ world_size: 2, backend: "cuda", driver: "560" })).toBe(one);
    expect(fingerprintHash({ world_size: 1, backend: "cuda" })).not.toBe(one);
  });

  it("directory names of scenarios are one safe path component and differ for different scenarios", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        const name = scenarioDirectory(a);
        expect(name).toMatch(/^[A-Za-z0-9_][A-Za-z0-9._~-]*$/);
        expect(name.length).toBeLessThan(120);
        if (a !== b) expect(scenarioDirectory(b)).not.toBe(name);
      }),
    );
    expect(scenarioDirectory("train-gpt2")).toBe("train-gpt2");
    expect(scenarioDirectory("../../x")).not.toContain("..");
  });
});
