import { describe, expect, it } from "vitest";
import type { SampleTable } from "../telemetry/recording/model.ts";
import { recording, table } from "../telemetry/testing/recordings.ts";
import { analyze } from "./analyze.ts";
import { gapSamples } from "./findings/gap-source.ts";
import { combineEvidence, ranksEvidence } from "./ranks.ts";
import { collectSeries, seriesOf } from "./series/series.ts";

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const column = (count: number, value: (i: number) => number) =>
  Float64Array.from({ length: count }, (_, i) => value(i));

/** The driver is sampled every 20 ms, the allocator every 23 ms. */
function device(used: (i: number) => number, reserved: (i: number) => number, rank = 0): SampleTable[] {
  const [n, m] = [1000, 860];
  return [
    table({
      rank,
      device: "cuda:0",
      timeNs: column(n, (i) => i * 20e6),
      columns: { used: column(n, used), total: column(n, () => 80 * GIB) },
    }),
    table({
      rank,
      device: "cuda:0",
      timeNs: column(m, (i) => i * 23e6 + 1),
      columns: { allocated: column(m, (i) => reserved(i) / 2), reserved: column(m, reserved) },
    }),
  ];
}

describe("one device with two clocks", () => {
  const flat = device(
    () => 10 * GIB,
    () => 8 * GIB,
  );

  it("one device with two clocks has each series with its own samples only", () => {
    const series = collectSeries(recording({ tables: flat }));
    expect(series.map(({ metric, bytes }) => [metric, bytes.length])).toEqual([
      ["allocated", 860],
      ["reserved", 860],
      ["used", 1000],
    ]);
    expect(series.every(({ totalBytes }) => totalBytes === 80 * GIB)).toBe(true);
    expect(series[0]?.bytes).toBe(flat[1]?.columns.allocated);
  });

  it("reports memory that grows outside the allocator, and only that", () => {
    const hidden = device(
      (i) => 10 * GIB + i * 4 * MIB,
      () => 8 * GIB,
    );
    const growing = device(
      (i) => 10 * GIB + i * 4 * MIB,
      (i) => 8 * GIB + i * 4.6 * MIB,
    );
    const found = (tables: SampleTable[]) =>
      analyze(recording({ tables })).findings.map(({ classification }) => classification);
    expect(found(hidden)).toContain("hidden_gap");
    expect(found(hidden)).toContain("persistent_drift");
    expect(found(growing)).not.toContain("hidden_gap");
    expect(found(flat)).not.toContain("hidden_gap");
  });

  it("one device with two clocks is joined for Stormlog's rules", () => {
    const [gap] = gapSamples(recording({ tables: flat }));
    expect(gap?.timeNs.length).toBeGreaterThan(1800);
    expect(gap?.reserved[1800]).toBe(8 * GIB);
    expect(gap?.used[1800]).toBe(10 * GIB);
  });

  it("gives the same document for any order of the tables", () => {
    expect(analyze(recording({ tables: [...flat].reverse() }))).toEqual(analyze(recording({ tables: flat })));
  });
});

/** A loop with working memory within each step, sampled by a timer and at the ends of its steps. */
function loop(steps: number, tail: number, perStep: number): SampleTable {
  const rows: { timeNs: number; step: number; bytes: number; at: number }[] = [];
  for (let step = 1; step <= steps; step++) {
    const live = 100 * MIB + step * perStep;
    rows.push({ timeNs: step * 50e6 - 31e6, step: step - 1, bytes: live + ((step * 37) % 50) * MIB, at: 0 });
    rows.push({ timeNs: step * 50e6, step, bytes: live, at: 1 });
  }
  for (let i = 1; i <= tail; i++) {
    rows.push({ timeNs: steps * 50e6 + i * 20e6, step: Number.NaN, bytes: 100 * MIB + i * 40_000, at: 0 });
  }
  return table({
    device: "host",
    timeNs: Float64Array.from(rows, ({ timeNs }) => timeNs),
    steps: Float64Array.from(rows, ({ step }) => step),
    columns: { allocated: Float64Array.from(rows, ({ bytes }) => bytes) },
    atStep: Uint8Array.from(rows, ({ at }) => at),
  });
}

describe("samples taken at the ends of steps", () => {
  const horizon = { horizon: { kind: "steps", steps: 1_000_000 } } as const;

  it("samples at the ends of steps form the series of live memory: 1 kB a step shows under a swing of 50 MiB", () => {
    const analysed = analyze(recording({ tables: [loop(400, 0, 1300)] }), horizon).series[0];
    expect(analysed).toMatchObject({ metric: "allocated", samples: 400, steps: 400, class: "leak" });
    expect(analysed?.slope_bytes_per_step).toBeCloseTo(1300, 0);
    expect(analyze(recording({ tables: [loop(400, 0, 0)] }), horizon).series[0]?.class).toBe("flat");
  });

  it("samples at the ends of steps do not replace all samples in the peak and the chart", () => {
    const one = recording({
      tables: [loop(100, 0, 0)],
      peaks: [{ rank: 0, device: "host", metric: "allocated", bytes: 149 * MIB, kind: "sampled", source: "mallinfo2" }],
    });
    expect(analyze(one).series[0]?.peak_bytes).toBe(149 * MIB);
    expect(seriesOf(one)[0]?.bytes).toHaveLength(200);
  });

  it("samples at the ends of steps are not used when fewer than 24, or when the loop is the smaller part", () => {
    expect(collectSeries(recording({ tables: [loop(20, 0, 0)] }))[0]?.bytes).toHaveLength(40);
    const mostlyAfter = recording({ tables: [loop(40, 1000, 0)] });
    expect(collectSeries(mostlyAfter)[0]?.bytes).toHaveLength(1080);
    // A leak after the loop is detected by the clock.
    expect(analyze(mostlyAfter).series[0]).toMatchObject({ class: "leak", slope_bytes_per_step: null });
  });
});

describe("samples before the first step", () => {
  it("samples before the first step are not part of a series that counts steps", () => {
    const before = 600;
    const host = table({
      timeNs: column(800, (i) => i * 5e6),
      steps: column(800, (i) => (i < before ? Number.NaN : i - before)),
      columns: { host: column(800, (i) => (i < before ? i * MIB : before * MIB)) },
    });
    expect(analyze(recording({ tables: [host] })).series[0]).toMatchObject({ steps: 200, samples: 200, class: "flat" });
  });

  it("samples before the first step are not part of a series with too few steps for an axis of steps", () => {
    const before = 60;
    const samples = (after: number) => {
      const python = table({
        timeNs: column(before + after, (i) => i * 40e6),
        steps: column(before + after, (i) => (i < before ? Number.NaN : Math.floor((i - before) / 4) + 1)),
        columns: { python: column(before + after, (i) => Math.min(i, before) * MIB) },
      });
      return analyze(recording({ tables: [python] })).series[0];
    };
    // The import of a large library, at 25 MiB/s, does not count as growth of the loop of two seconds after it.
    expect(samples(50)).toMatchObject({ samples: 50, class: "flat", duration_s: 1.96 });
    expect(samples(16)).toMatchObject({ samples: 16, class: "insufficient" });
  });

  it("samples before the first step are not part of a series that was read at one step of the loop, or at none", () => {
    const host = table({
      timeNs: column(800, (i) => i * 5e6),
      steps: column(800, (i) => (i < 600 ? Number.NaN : i)),
      columns: { host: column(800, () => MIB) },
    });
    const python = (within: number) =>
      table({
        timeNs: column(60 + within, (i) => i * 50e6),
        steps: column(60 + within, (i) => (i < 60 ? Number.NaN : i)),
        columns: { python: column(60 + within, (i) => i * MIB) },
      });
    const classes = (tables: SampleTable[]) => analyze(recording({ tables })).series.map((one) => one.class);
    expect(classes([host, python(1)])).toEqual(["flat", "insufficient"]);
    expect(classes([host, python(0)])).toEqual(["flat", "insufficient"]);
    // Without a loop all of a program counts.
    expect(classes([python(0)])).toEqual(["leak"]);
  });

  it("samples before the first step leave nothing, and no duration, when the clock stops before that step", () => {
    const lost = table({
      timeNs: column(80, (i) => (i < 60 ? i * 40e6 : Number.NaN)),
      steps: column(80, (i) => (i < 60 ? Number.NaN : Math.floor((i - 60) / 4) + 1)),
      columns: { python: column(80, () => MIB) },
    });
    const analysed = analyze(recording({ tables: [lost] })).series[0];
    expect(analysed).toMatchObject({ samples: 0, class: "insufficient", duration_s: null });
  });

  it("samples before the first step are not a first cause among ranks whose heaps are compared", () => {
    const rank = (number: number) =>
      table({
        rank: number,
        timeNs: column(200, (i) => i * 20e6 + number * 1e6),
        steps: column(200, (i) => (i < 100 ? Number.NaN : i)),
        columns: { allocated: column(200, (i) => Math.min(i, 100) * 2 * MIB) },
      });
    const ranks = combineEvidence([ranksEvidence(recording({ tables: [rank(0), rank(1)], worldSize: 4 }))]);
    expect(ranks).toMatchObject({ world_size: 4, participating_ranks: [0, 1], missing_ranks: [2, 3] });
    expect(ranks.first_cause_suspects).toEqual([]);
  });

  it("ranks are compared by one device per rank, which excludes the host's memory", () => {
    const host = table({ timeNs: column(50, (i) => i * 20e6 + 3), columns: { host: column(50, () => MIB) } });
    const steady = column(50, () => 10 * GIB);
    const gpu = (rank: number) =>
      table({ rank, device: "cuda:0", timeNs: column(50, (i) => i * 20e6), columns: { used: steady } });
    const ranks = combineEvidence([ranksEvidence(recording({ tables: [host, gpu(0), gpu(1)], worldSize: 2 }))]);
    expect(ranks.first_cause_suspects).toEqual([]);
    expect(ranks.rank_sample_counts).toEqual({ "0": 50, "1": 50 });
  });
});
