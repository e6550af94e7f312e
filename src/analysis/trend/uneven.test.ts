import { describe, expect, it } from "vitest";
import { prng } from "../../stats/testing/prng.ts";
import { analyseSeries } from "../growth/series-analysis.ts";
import { toBins } from "./bins.ts";

const LEVEL = 70e6;
/** Steps of 1.7 kB at a production length of a million. */
const HORIZON = { kind: "steps", steps: 1e6 } as const;

/** Steps 1 to about 440, read `ratio` times as seldom before or after a third of the readings. */
function steps(ratio: number, late: boolean): number[] {
  const all = [1];
  for (let i = 1; i < 100; i++) all.push(all[i - 1]! + (i < 34 === late ? ratio : 1));
  const scale = 439 / (all.at(-1)! - 1);
  return all.map((step) => 1 + Math.round((step - 1) * scale));
}

function analysisOf(at: (step: number) => number, positions: readonly number[], seed: number, noise = 500) {
  const random = prng(seed);
  let walk = 0;
  const bytes = Float64Array.from(positions, (step) => {
    walk = 0.9 * walk + noise * random.normal();
    return LEVEL + at(step) + walk;
  });
  const { analysis } = analyseSeries(
    {
      rank: 0,
      device: "host",
      metric: "allocated",
      highwater: false,
      thinned: false,
      timeNs: Float64Array.from(positions, (_, i) => i * 1e7),
      steps: Float64Array.from(positions),
      bytes,
      totalBytes: null,
    },
    { peaks: new Map(), horizon: HORIZON },
  );
  return analysis;
}

const classes = (at: (step: number) => number): Set<string> => {
  const found = new Set<string>();
  for (let seed = 1; seed <= 20; seed++) {
    for (const ratio of [2, 3.5, 5]) {
      for (const late of [true, false]) found.add(analysisOf(at, steps(ratio, late), seed).class);
    }
  }
  return found;
};

describe("a thinned record", () => {
  const x = Float64Array.from({ length: 6000 }, (_, i) => (i < 3000 ? i : 3000 + (i - 3000) * (1 + i / 3000)));
  const binned = (thinned: boolean) =>
    toBins({ axis: "time", x: x.slice(), bytes: x, thinned, durationS: null, steps: null, stepSpan: null });

  it("a thinned record is divided into bins of which most have at least 20 samples", () => {
    const { count, x: centers } = binned(true);
    const half = (centers[1]! - centers[0]!) / 2;
    const samples = Array.from(centers, (center) => x.filter((at) => Math.abs(at - center) < half).length);
    expect(samples.filter((inside) => inside >= 20).length).toBeGreaterThan(0.85 * count);
    expect(count).toBeGreaterThan(100);
    expect(binned(false).count).toBeGreaterThan(2 * count);
  });

  it("a thinned record with few samples of a slow counter is divided as any other", () => {
    const few = x.filter((_, i) => i % 60 === 0);
    const series = { axis: "time", bytes: few, durationS: null, steps: null, stepSpan: null } as const;
    expect(toBins({ ...series, x: few.slice(), thinned: true })).toEqual(
      toBins({ ...series, x: few.slice(), thinned: false }),
    );
  });

  it("a thinned record is divided into equally wide bins, however evenly its samples lie", () => {
    const even = Float64Array.from({ length: 6000 }, (_, i) => i + (i % 3) / 4);
    const series = { axis: "time", x: even, bytes: even, durationS: null, steps: null, stepSpan: null } as const;
    const { x: centers } = toBins({ ...series, thinned: true });
    const widths = centers.slice(1).map((at, i) => at - centers[i]!);
    expect(Math.max(...widths) - Math.min(...widths)).toBeLessThan(1e-6);
  });
});

describe("a rate of sampling that changes within the run", () => {
  it("still classifies a leak as a leak", () => {
    expect(classes((step) => 1700 * step)).toEqual(new Set(["leak"]));
  });

  it("leaves the slope of a line as it is", () => {
    const slopes = [1.3, 1.5, 1.7, 1.9].map((ratio) => {
      const read = Array.from(
        { length: 170 },
        (_, i) => 1 + Math.round(2.05 * (i < 132 ? i : 132 + ratio * (i - 132))),
      );
      return analysisOf((step) => 4112 * step, read, 1, 0).slope_bytes_per_step;
    });
    for (const slope of slopes) expect(Math.abs((slope ?? 0) / 4112 - 1)).toBeLessThan(0.01);
  });

  it("classifies neither ended growth, warm-up nor rest as a leak", () => {
    expect(classes((step) => 1700 * Math.min(step, 200))).not.toContain("leak");
    expect(classes((step) => 3e5 * (1 - Math.exp(-step / 60)))).not.toContain("leak");
    expect(classes(() => 0)).toEqual(new Set(["flat"]));
  });

  it("gives bins of equal width, with what lies between two samples interpolated", () => {
    const x = Float64Array.from([
      ...Array.from({ length: 60 }, (_, i) => i),
      ...Array.from({ length: 60 }, (_, i) => 100 + 10 * i),
    ]);
    const bins = toBins({
      axis: "step",
      x,
      bytes: x.map((at) => 1000 + 3 * at),
      thinned: false,
      durationS: null,
      steps: 120,
      stepSpan: 690,
    });
    const widths = bins.x.slice(1).map((at, i) => at - bins.x[i]!);
    expect(Math.max(...widths) - Math.min(...widths)).toBeLessThan(1e-6);
    for (const [k, value] of bins.middle.entries()) {
      expect(Math.abs(value - 1000 - 3 * bins.x[k]!)).toBeLessThan(12);
      expect(bins.low[k]).toBeLessThanOrEqual(bins.high[k]!);
    }
  });
});
