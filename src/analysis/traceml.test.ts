import { describe, expect, it } from "vitest";
import { GIB } from "../core/units.ts";
import { analyze } from "./analyze.ts";
import { recordingOf, tableOf } from "./testing/recordings.ts";
import { stepMemoryDiagnosis } from "./traceml.ts";

const line = (n: number, from: number, to: number = from) =>
  Float64Array.from({ length: n }, (_, i) => from + ((to - from) * i) / (n - 1));

const kinds = (n: number, worst: [number, number?], mid: [number, number?], total: number | null, skew: number) =>
  stepMemoryDiagnosis({
    worst: line(n, ...worst),
    median: line(n, ...mid),
    deviceTotal: total,
    skew,
    worstRank: 0,
  }).map(({ kind }) => kind);

describe("TraceML's step-memory diagnosis", () => {
  it.each([
    [60, [100], [90], null, 0, "BALANCED"],
    [49, [100], [90], null, 0, "NO_DATA"],
    [50, [4 * GIB, 4.1 * GIB], [4 * GIB, 4.1 * GIB], null, 0, "CREEP_EARLY"],
    [50, [4 * GIB, 7.4 * GIB], [4 * GIB, 7.4 * GIB], null, 0, "CREEP_CONFIRMED"],
    [60, [98], [90], 100, 0, "HIGH_PRESSURE"],
    [60, [96], [80], 100, 0, "HIGH_PRESSURE"],
    [60, [100], [70], 250, 0.3, "IMBALANCE"],
    [60, [4 * GIB, 6 * GIB], [2 * GIB, 3 * GIB], 100 * GIB, 0, "CREEP_CONFIRMED"],
    [60, [4 * GIB, 4.1 * GIB], [2 * GIB, 2.05 * GIB], 100 * GIB, 0, "CREEP_EARLY"],
    [60, [90], [88], 1000, 0, "BALANCED"],
    [60, [26], [21], 800, 0.24, "BALANCED"],
  ] as const)(
    "the diagnosis of %d steps from %j (median %j) on %s with skew %d is %s",
    (n, worst, mid, total, skew, kind) => {
      expect(kinds(n, [...worst], [...mid], total, skew)[0]).toBe(kind);
    },
  );

  it("lists several issues in order of importance", () => {
    expect(kinds(60, [4 * GIB, 6 * GIB], [2 * GIB, 3 * GIB], 6.1 * GIB, 0.4)).toEqual([
      "HIGH_PRESSURE",
      "IMBALANCE",
      "CREEP_CONFIRMED",
    ]);
  });

  it("maps TraceML's confirmed creep to leak or rising, and its balanced to flat", () => {
    const classOf = (values: Float64Array, highwater: boolean) =>
      analyze(recordingOf([tableOf({ allocated: values }, { steps: true, highwater: highwater ? ["allocated"] : [] })]))
        .series[0]?.class;
    expect(classOf(line(50, 4 * GIB, 7.4 * GIB), false)).toBe("leak");
    expect(classOf(line(60, 4 * GIB, 6 * GIB), false)).toBe("leak");
    expect(classOf(line(50, 4 * GIB, 7.4 * GIB), true)).toBe("rising");
    expect(classOf(line(60, 100), false)).toBe("flat");
    expect(classOf(line(60, 100), true)).toBe("flat");
  });

  it("distinguishes a recording without a GPU from one without enough steps, and names the worst rank", () => {
    const diagnose = (...tables: ReturnType<typeof tableOf>[]) => analyze(recordingOf(tables)).diagnosis;
    expect(diagnose(tableOf({ host: line(60, 100) }, { device: "host", steps: true }))[0]?.kind).toBe("NO_GPU");
    expect(diagnose(tableOf({ allocated: line(60, 100) }))[0]?.kind).toBe("NO_DATA");
    const [first] = diagnose(
      tableOf({ allocated: line(60, 70), total: line(60, 250) }, { steps: true }),
      tableOf({ allocated: line(60, 130), total: line(60, 250) }, { rank: 1, steps: true }),
    );
    expect(first).toEqual({ kind: "IMBALANCE", status: "IMBALANCE", severity: "crit", worst_rank: 1 });
  });
});
