import { describe, expect, it, test } from "vitest";
import { prng } from "../../stats/testing/prng.ts";
import type { MetricSeries } from "../series/series.ts";
import { growthStretch } from "./growth-stretch.ts";

const MIB = 2 ** 20;

function series(level: (step: number) => number, noise = 0.2): MetricSeries {
  const { uniform } = prng(7);
  const steps = Float64Array.from({ length: 400 }, (_, i) => i + 1);
  return {
    rank: 0,
    device: "host",
    metric: "host",
    highwater: false,
    thinned: false,
    timeNs: null,
    steps,
    bytes: steps.map((step) => Math.round((level(step) + noise * uniform()) * MIB)),
    totalBytes: null,
  };
}

describe("the stretch in which a series grew", () => {
  test.each([0, 30, 60, 75, 85])("begins at its onset, %i percent of the run", (percent) => {
    const onset = 4 * percent;
    const stretch = growthStretch(series((step) => 100 + 0.5 * Math.max(0, step - onset)));
    if (stretch?.kind !== "growth") throw new Error("no growth");
    expect(stretch.unit).toBe("steps");
    expect(Math.abs(stretch.onset - onset)).toBeLessThan(20);
    expect(stretch.bytes / (0.5 * (400 - onset) * MIB)).toBeCloseTo(1, 0);
  });

  test.each([60, 75, 85])("begins at %i percent also after a warm-up", (percent) => {
    const onset = 4 * percent;
    const warm = (step: number): number => 100 + 60 * (1 - Math.exp(-step / 8));
    const stretch = growthStretch(series((step) => warm(step) + 0.5 * Math.max(0, step - onset)));
    if (stretch?.kind !== "growth") throw new Error("no growth");
    expect(Math.abs(stretch.onset - onset)).toBeLessThan(30);
  });

  it("contains the growth below a saw-tooth, from its beginning", () => {
    const stretch = growthStretch(series((step) => 100 + 0.2 * step + 2 * (step % 20)));
    if (stretch?.kind !== "growth") throw new Error("no growth");
    expect(stretch.onset).toBeLessThan(40);
  });

  it("the stretch of growth is a jump where the memory rose once", () => {
    const stretch = growthStretch(series((step) => (step < 280 ? 100 : 150)));
    if (stretch?.kind !== "jump") throw new Error("no jump");
    expect(stretch.before).toBeLessThanOrEqual(280);
    expect(stretch.after).toBeGreaterThanOrEqual(279);
    expect(stretch.bytes / (50 * MIB)).toBeCloseTo(1, 1);
  });

  it("the stretch of growth does not exist in a series that ends as low as it began", () => {
    expect(growthStretch(series((step) => 200 - step / 4))).toBeNull();
  });
});
