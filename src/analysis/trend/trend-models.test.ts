import { describe, expect, it } from "vitest";
import { prng } from "../../stats/testing/prng.ts";
import { fitTrendModels } from "./trend-models.ts";

const points = (at: (i: number) => number) => Float64Array.from({ length: 24 }, (_, i) => at(i));
const best = (y: Float64Array, noise = 0.5) => fitTrendModels(y, noise)[0]!;

describe("the best model of a trend", () => {
  it.each<[string, (i: number) => number]>([
    ["flat", () => 7],
    ["line", (i) => 10 * i],
    ["late-ramp", (i) => Math.max(0, i - 15) * 30],
    ["saturating", (i) => Math.min(i, 12) * 30],
    ["one-step", (i) => (i < 9 ? 0 : 100)],
    ["two-steps", (i) => (i < 8 ? 0 : i < 17 ? 100 : 200)],
    ["line-and-step", (i) => 10 * i + (i < 12 ? 0 : 120)],
    ["ended", (i) => 20 * Math.max(0, Math.min(i, 13) - 8)],
    ["ended", (i) => (i < 5 ? 0 : i < 9 ? 90 : i < 14 ? 160 : 280)],
  ])("the best model is %s when the points were drawn from it", (model, at) => {
    expect(best(points(at)).model).toBe(model);
  });

  it("the best model of a noisy line is seldom a more flexible one", () => {
    const counts: Record<string, number> = {};
    for (let seed = 1; seed <= 100; seed++) {
      const random = prng(seed);
      const { model } = best(points((i) => 4 * i + 5 * random.normal()));
      counts[model] = (counts[model] ?? 0) + 1;
    }
    expect(counts.line).toBeGreaterThan(85);
  });

  it("reports the share of the points after the end of a ramp", () => {
    expect(best(points((i) => Math.min(i, 12) * 30)).flatShare).toBeCloseTo(11 / 23, 5);
  });
});
