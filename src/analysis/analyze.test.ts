import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { draws } from "../core/testing/draws.ts";
import { prng } from "../stats/testing/prng.ts";
import type { RecordingInfo } from "../telemetry/recording/model.ts";
import { analyze } from "./analyze.ts";
import { collectSeries, seriesOf } from "./series/series.ts";
import { recordingOf, tableOf } from "./testing/recordings.ts";
import { growing, noisy } from "./testing/shapes.ts";

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const steady = (n: number, value = GIB) => new Float64Array(n).fill(value);

describe("analyze", () => {
  it("returns an empty document for an empty recording", () => {
    expect(analyze(recordingOf([]))).toMatchObject({
      schema: "stormlog.analysis/1",
      series: [],
      findings: [],
      diagnosis: [{ kind: "NO_GPU" }],
      ranks: { participating_ranks: [], cluster_onset_timestamp_ns: null },
    });
  });

  it("orders series by rank, device and metric and treats reserved and used as high-water marks", () => {
    const columns = { used: steady(30), reserved: steady(30), allocated: steady(30) };
    const { series } = analyze(
      recordingOf([
        tableOf(columns, { rank: 1 }),
        tableOf({ host: steady(30) }, { device: "host" }),
        tableOf(columns, { device: "cuda:1" }),
        tableOf(columns),
      ]),
    );
    expect(series.map((s) => `${s.rank} ${s.device} ${s.metric} ${s.highwater}`)).toEqual([
      "0 cuda:0 allocated false",
      "0 cuda:0 reserved true",
      "0 cuda:0 used true",
      "0 cuda:1 allocated false",
      "0 cuda:1 reserved true",
      "0 cuda:1 used true",
      "0 host host false",
      "1 cuda:0 allocated false",
      "1 cuda:0 reserved true",
      "1 cuda:0 used true",
    ]);
  });

  it.each([
    ["a framework", [{ framework: "torch", python: "3.11" }], "tensors with their graph"],
    ["Python alone", [{ framework: null, python: "3.11" }], "callbacks that are never removed"],
    ["a preloaded C++ program", [{ framework: null, python: null }], "allocations that are never freed"],
    ["a program that the probe did not enter", [], "allocations that are never freed"],
  ])("advises on a leak in the terms of %s", (_name, processes, expected) => {
    const info = { exit: { kind: "exited", code: 0 }, sources: [], identity: {}, probe: { processes } };
    const leak = tableOf({ host: growing(noisy(1), 300)(300, prng(3)) }, { device: "host" });
    const { findings } = analyze(recordingOf([leak], { info: info as unknown as RecordingInfo }));
    expect(findings.map(({ classification }) => classification)).toContain("leak");
    expect(findings.find(({ classification }) => classification === "leak")?.remediation[0]).toContain(expected);
  });

  it("gives the same bytes for any order of the tables, including shards of one series", () => {
    const values = growing(noisy(3), 80)(300, prng(5));
    const tables = [
      tableOf({ allocated: values.slice(0, 100) }, { timeNs: Float64Array.from({ length: 100 }, (_, i) => i * 1e8) }),
      tableOf(
        { allocated: values.slice(100) },
        { timeNs: Float64Array.from({ length: 200 }, (_, i) => (100 + i) * 1e8) },
      ),
      tableOf({ allocated: noisy(2)(300, prng(6)), used: noisy(2)(300, prng(7)) }, { rank: 1 }),
      tableOf({ host: noisy(2)(300, prng(8)) }, { rank: 1, device: "host" }),
    ];
    const whole = tableOf({ allocated: values });
    const expected = JSON.stringify(analyze(recordingOf(tables)));
    fc.assert(
      fc.property(fc.shuffledSubarray(tables, { minLength: tables.length }), (shuffled) => {
        expect(JSON.stringify(analyze(recordingOf(shuffled)))).toBe(expected);
      }),
      { numRuns: 20 },
    );
    expect(analyze(recordingOf(tables)).series[0]).toEqual(analyze(recordingOf([whole])).series[0]);
    expect(analyze(recordingOf(tables)).series[0]?.class).toBe("leak");
  });

  it("does not depend on the order of rows: backwards timestamps are sorted", () => {
    const values = growing(noisy(2), 60)(200, prng(1));
    const forwards = analyze(recordingOf([tableOf({ allocated: values })]));
    const times = Float64Array.from({ length: 200 }, (_, i) => (199 - i) * 1e8);
    const backwards = analyze(recordingOf([tableOf({ allocated: values.toReversed() }, { timeNs: times })]));
    expect(backwards.series).toEqual(forwards.series);
    expect(forwards.series[0]?.class).toBe("leak");
  });

  it("never throws and never prints NaN or infinity", () => {
    const value = fc.oneof(
      fc.integer({ min: 0, max: 2 ** 40 }),
      fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, 0, 2 ** 35),
    );
    const time = fc.oneof(fc.integer({ min: 0, max: 1e12 }), fc.constant(Number.NaN), fc.constant(7));
    fc.assert(
      fc.property(
        fc.array(fc.tuple(value, time, time), { maxLength: 80 }),
        fc.boolean(),
        fc.boolean(),
        (rows, clock, steps) => {
          const table = tableOf(
            {
              allocated: rows.map((r) => r[0]),
              used: rows.map((r) => r[0] * 1.5),
              reserved: rows.map((r) => r[0]),
              total: rows.map(() => 2 ** 36),
            },
            {
              intervalS: null,
              ...(clock ? { timeNs: Float64Array.from(rows, (r) => r[1]) } : {}),
              ...(steps ? { steps: Float64Array.from(rows, (r) => r[2]) } : {}),
            },
          );
          const visit = (node: unknown): void => {
            if (typeof node === "number") expect(Number.isFinite(node)).toBe(true);
            else if (node !== null && typeof node === "object") Object.values(node).forEach(visit);
          };
          visit(analyze(recordingOf([table])));
        },
      ),
      { numRuns: draws(300) },
    );
  });
});

describe("series that cannot be judged", () => {
  it("a series is unavailable without a usable value and insufficient below 24 points", () => {
    const nothing = steady(50, Number.NaN);
    const same = tableOf({ allocated: steady(50) }, { timeNs: steady(50, 5) });
    const classes = (table: ReturnType<typeof tableOf>) => analyze(recordingOf([table])).series.map((s) => s.class);
    expect(classes(tableOf({ allocated: nothing, used: nothing }))).toEqual(["unavailable", "unavailable"]);
    expect(classes(tableOf({ allocated: steady(23) }))).toEqual(["insufficient"]);
    expect(classes(tableOf({ allocated: steady(24) }))).toEqual(["flat"]);
    // Equal timestamps are not a clock, so the order of the rows is used.
    expect(classes(same)).toEqual(["flat"]);
    expect(analyze(recordingOf([same])).series[0]).toMatchObject({ slope_bytes_per_s: null, duration_s: 0 });
  });

  it("series that cannot be judged keep their peak", () => {
    const [series] = analyze(recordingOf([tableOf({ allocated: [1, 5, 3] })])).series;
    expect(series).toMatchObject({
      class: "insufficient",
      peak_bytes: 5,
      growth_bytes: null,
      mde_bytes: null,
      samples: 3,
    });
  });

  it("drops missing values and counts the remaining ones", () => {
    const values = growing(noisy(1), 60)(200, prng(2)).map((v, i) => (i % 5 === 0 ? Number.NaN : v));
    const document = analyze(
      recordingOf([tableOf({ allocated: values }, { steps: true })], { missing: { b: 1, a: 40 } }),
    );
    expect(document.series[0]).toMatchObject({ class: "leak", samples: 160, steps: 160 });
    expect(JSON.stringify(document.missing)).toBe('{"a":40,"b":1}');
  });
});

describe("axes", () => {
  it("works per step where steps exist, grouping each step's samples", () => {
    const steps = Float64Array.from({ length: 1000 }, (_, i) => Math.floor(i / 10));
    const inStep = Float64Array.from({ length: 1000 }, (_, i) => GIB + (i % 10) * 100 * MIB + Math.floor(i / 10) * MIB);
    const [series] = analyze(recordingOf([tableOf({ allocated: inStep }, { steps })])).series;
    expect(series).toMatchObject({ class: "leak", steps: 100, samples: 1000 });
    expect(series!.slope_bytes_per_step! / MIB).toBeCloseTo(1, 3);
    expect(series!.slope_bytes_per_s! / MIB).toBeCloseTo(1 * (99 / 99.9), 3);
    expect(series!.growth_bytes! / MIB).toBeCloseTo(99, 1);
  });

  it("uses the clock when the step counter restarts", () => {
    const steps = Float64Array.from({ length: 200 }, (_, i) => i % 50);
    const [series] = analyze(
      recordingOf([tableOf({ allocated: growing(noisy(1), 60)(200, prng(3)) }, { steps })]),
    ).series;
    expect(series).toMatchObject({ class: "leak", steps: null, slope_bytes_per_step: null });
  });
});

describe("peaks", () => {
  const table = tableOf({ allocated: steady(30, 100), reserved: steady(30, 300) });
  const peakOf = (bytes: number, kind: "exact" | "sampled") =>
    analyze(
      recordingOf([table], {
        peaks: [{ rank: 0, device: "cuda:0", metric: "allocated", bytes, kind, source: "max_memory_allocated" }],
      }),
    ).series.map((s) => [s.peak_bytes, s.peak_kind]);

  it("peaks come from the counter that records them, else from the samples", () => {
    expect(peakOf(250, "exact")).toEqual([
      [250, "exact"],
      [300, "sampled"],
    ]);
    expect(peakOf(250, "sampled")[0]).toEqual([250, "sampled"]);
  });

  it("a peak is never below the samples", () => {
    expect(peakOf(50, "exact")[0]).toEqual([100, "sampled"]);
  });
});

describe("high-water series", () => {
  const classOf = (values: Float64Array) => analyze(recordingOf([tableOf({ reserved: values })])).series[0]?.class;
  const runningMax = (values: Float64Array) => {
    let max = 0;
    return values.map((value) => {
      max = Math.max(max, value);
      return max;
    });
  };

  it("high-water series of healthy demand are never a leak and almost never rising", () => {
    const counts: Record<string, number> = {};
    for (let seed = 1; seed <= 200; seed++) {
      const found = classOf(runningMax(noisy(30)(300, prng(seed))))!;
      counts[found] = (counts[found] ?? 0) + 1;
    }
    expect(counts.rising ?? 0).toBeLessThanOrEqual(2);
    expect(counts.leak).toBeUndefined();
  });

  it("high-water series rise with continued records, and leak only when the allocator agrees", () => {
    const stairs = Float64Array.from({ length: 300 }, (_, i) => GIB + Math.floor(i / 20) * 20 * MIB);
    expect(classOf(stairs)).toBe("rising");
    const both = analyze(recordingOf([tableOf({ reserved: stairs, allocated: stairs.map((v) => v - 100 * MIB) })]));
    expect(both.series.map((s) => s.class)).toEqual(["leak", "leak"]);
  });

  it("high-water series have no slope interval, and late single growth is a step", () => {
    const late = Float64Array.from({ length: 300 }, (_, i) => GIB + (i > 200 ? 200 * MIB : 0));
    const [series] = analyze(recordingOf([tableOf({ used: late })])).series;
    expect(series).toMatchObject({ class: "step", slope_interval: null, highwater: true });
    expect(classOf(late.map((_, i) => GIB + (i > 30 ? 200 * MIB : 0)))).toBe("plateau");
  });
});

describe("findings", () => {
  const kinds = (recording: Parameters<typeof analyze>[0]) => analyze(recording).findings.map((f) => f.classification);

  it("findings name a leak with its numbers, most urgent first", () => {
    const [finding] = analyze(
      recordingOf([tableOf({ allocated: growing(noisy(1), 200)(300, prng(1)) }, { steps: true })]),
    ).findings;
    expect(finding).toMatchObject({
      classification: "leak",
      severity: "critical",
      rank: 0,
      device: "cuda:0",
      metric: "allocated",
    });
    expect(Number(finding?.evidence.growth_bytes) / MIB).toBeCloseTo(200, -1);
    expect(finding?.remediation.length).toBeGreaterThan(0);
  });

  it("findings report memory that grows outside the allocator", () => {
    const used = Float64Array.from({ length: 120 }, (_, i) => 3 * GIB + i * 4 * MIB);
    expect(kinds(recordingOf([tableOf({ used, reserved: steady(120, 2 * GIB), allocated: steady(120) })]))).toEqual([
      "rising",
      "hidden_gap",
      "allocator_slack",
    ]);
  });

  it("findings warn near the end of the device, once per device", () => {
    const findings = analyze(
      recordingOf([tableOf({ allocated: steady(30, 9.3), used: steady(30, 9.8), total: steady(30, 10) })]),
    ).findings;
    expect(findings.map((f) => [f.classification, f.severity, f.metric])).toEqual([["pressure", "critical", "used"]]);
  });

  it("findings name the rank that needs more than the others", () => {
    const ranks = [70, 70, 100].map((peak, rank) =>
      tableOf({ allocated: steady(30, peak), total: steady(30, 250) }, { rank }),
    );
    const [finding] = analyze(recordingOf(ranks)).findings;
    expect(finding).toMatchObject({ classification: "rank_skew", rank: 2, evidence: { skew: 0.4286, pressure: 0.4 } });
  });

  it("findings report running out of memory first", () => {
    const recording = recordingOf([tableOf({ allocated: growing(noisy(1), 200)(300, prng(1)) })], {
      marks: [{ timeNs: 12.3e9, kind: "oom", text: "CUDA out of memory" }],
    });
    expect(kinds(recording)).toEqual(["oom", "leak"]);
    expect(analyze(recording).findings[0]?.description).toContain("12.3 s");
  });
});

describe("seriesOf", () => {
  it("gives charts the usable samples in order of time", () => {
    const table = tableOf(
      { allocated: [3, Number.NaN, 1], host: [1, 2, 3] },
      { timeNs: Float64Array.from([2e9, 1e9, 0.5e9]) },
    );
    expect(seriesOf(recordingOf([table])).map((s) => [s.metric, [...s.timeS], [...s.bytes]])).toEqual([
      ["allocated", [0.5, 2], [1, 3]],
      ["host", [0.5, 1, 2], [3, 2, 1]],
    ]);
  });

  it("does not copy the columns of a single table", () => {
    const table = tableOf({ allocated: steady(5) });
    expect(collectSeries(recordingOf([table]))[0]?.bytes).toBe(table.columns.allocated);
  });
});
