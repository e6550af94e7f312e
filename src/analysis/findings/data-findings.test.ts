import { describe, expect, it } from "vitest";
import { analyze } from "../analyze.ts";
import { recordingOf, tableOf } from "../testing/recordings.ts";

const MIB = 2 ** 20;
const ramp = (n: number, perStep = 2 * MIB) => Float64Array.from({ length: n }, (_, i) => 4e9 + i * perStep);
const findings = (...[recording, options]: Parameters<typeof analyze>) =>
  analyze(recording, options).findings.map(({ classification, rank, metric }) => [classification, rank, metric]);

describe("findings about data that could not be judged", () => {
  it("findings report the number of samples when they are too few, also for one sample", () => {
    const [few] = analyze(recordingOf([tableOf({ allocated: ramp(23) })])).findings;
    expect(few).toMatchObject({ classification: "insufficient_data", severity: "info", evidence: { samples: 23 } });
    expect(few?.description).toContain("23 usable samples (growth is judged from 24 on)");
    expect(analyze(recordingOf([tableOf({ allocated: [5] })])).findings[0]?.description).toContain("1 usable sample (");
  });

  it("findings report a counter that never had a value", () => {
    const nothing = new Float64Array(50).fill(Number.NaN);
    expect(findings(recordingOf([tableOf({ allocated: nothing })]))).toEqual([["unavailable", 0, "allocated"]]);
  });

  it("findings about data are absent when everything could be judged", () => {
    expect(findings(recordingOf([tableOf({ allocated: ramp(60, 0) }, { steps: true })]))).toEqual([]);
  });

  it("findings report a horizon in steps for a series without steps, and one in hours for one without a clock", () => {
    const byClock = recordingOf([tableOf({ allocated: ramp(60, 0) })]);
    const byStep = recordingOf([tableOf({ allocated: ramp(60, 0) }, { steps: true, intervalS: null })]);
    const steps = { horizon: { kind: "steps", steps: 1e6 } } as const;
    const hours = { horizon: { kind: "seconds", seconds: 3600 } } as const;
    expect(findings(byClock, steps)).toEqual([["horizon_unused", 0, "allocated"]]);
    expect(findings(byClock, hours)).toEqual([]);
    expect(findings(byStep, hours)).toEqual([["horizon_unused", 0, "allocated"]]);
    expect(findings(byStep, steps)).toEqual([]);
  });
});

describe("ranks of different lengths", () => {
  const rank = (n: number, number: number, more: Parameters<typeof tableOf>[1] = {}) =>
    tableOf({ allocated: ramp(n, 0) }, { rank: number, ...more });

  it("a rank that ends early is reported, by its steps or else by its time", () => {
    for (const steps of [true, false]) {
      const recording = recordingOf([
        rank(300, 0, { steps }),
        rank(40, 1, { steps, intervalS: 0.1 }),
        rank(290, 2, { steps }),
      ]);
      const [early, ...others] = analyze(recording).findings;
      expect(early).toMatchObject({ classification: "rank_ended_early", severity: "warning", rank: 1 });
      expect(early?.evidence).toMatchObject({ unit: steps ? "steps" : "seconds" });
      expect(others).toEqual([]);
    }
  });

  it("a rank that only samples less often, or has another clock, is not reported as ended early", () => {
    const later = Float64Array.from({ length: 300 }, (_, i) => 1e15 + i * 1e8);
    expect(
      findings(recordingOf([rank(300, 0), rank(100, 1, { intervalS: 0.3 }), rank(300, 2, { timeNs: later })])),
    ).toEqual([]);
  });
});

describe("steps without a clock", () => {
  const epochs = Float64Array.from({ length: 300 }, (_, i) => i % 60);
  const total = 299 * 2;

  it("steps that restart each epoch are read in the order of the rows", () => {
    const [series] = analyze(
      recordingOf([tableOf({ allocated: ramp(300) }, { steps: epochs, intervalS: null })]),
    ).series;
    expect(series).toMatchObject({ class: "leak", steps: null });
    expect((series?.growth_bytes ?? 0) / MIB).toBeCloseTo(total, 0);
  });

  it("steps without a clock are sorted when rows are shuffled or shards are in the wrong order", () => {
    const inOrder = Float64Array.from({ length: 300 }, (_, i) => i);
    const swapped = inOrder.map((_, i) => (i + 150) % 300);
    const shuffled = inOrder.map((_, i) => (i * 7) % 300);
    for (const steps of [swapped, shuffled]) {
      const allocated = Float64Array.from(steps, (step) => 4e9 + step * 2 * MIB);
      const [series] = analyze(recordingOf([tableOf({ allocated }, { steps, intervalS: null })])).series;
      expect(series).toMatchObject({ class: "leak", steps: 300 });
      expect((series?.growth_bytes ?? 0) / MIB).toBeCloseTo(total, 0);
    }
  });
});
