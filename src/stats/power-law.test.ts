import { describe, expect, it } from "vitest";
import { fitPowerLaw, largestWithin } from "./power-law.ts";
import { prng } from "./testing/prng.ts";

const X = [1, 2, 4, 8, 16, 32];

describe("a power law", () => {
  it.each([0.5, 1, 1.5, 2, 3])("fitPowerLaw finds a power law without noise exactly at exponent %d", (k) => {
    const law = fitPowerLaw(
      X,
      X.map((x) => 2e8 + 3e7 * x ** k),
    );
    expect(law?.k).toBeCloseTo(k, 1);
    expect(Math.abs((law?.a ?? 0) / 2e8 - 1)).toBeLessThan(0.02);
    // Exponents are tried 0.005 apart.
    expect(law?.low).toBeLessThanOrEqual(k + 0.005);
    expect(law?.high).toBeGreaterThanOrEqual(k - 0.005);
  });

  it("contains the exponent in 95 % of noisy draws, and the largest value within a limit", () => {
    const random = prng(20261123);
    let [exponents, values] = [0, 0];
    const draws = 400;
    for (let i = 0; i < draws; i++) {
      const k = 0.8 + 1.4 * random.uniform();
      const y = X.map((x) => (5e7 + 4e6 * x ** k) * (1 + 0.01 * random.normal()));
      const law = fitPowerLaw(X, y);
      if (law === null) continue;
      if (law.low <= k && k <= law.high) exponents++;
      const found = largestWithin(law, 5e7 + 4e6 * 64 ** k);
      if (found !== null && found.low <= 64 && 64 <= found.high) values++;
    }
    expect(exponents / draws).toBeGreaterThan(0.92);
    expect(values / draws).toBeGreaterThan(0.95);
  });

  it.each([1, 2])("a power law of exponent %d predicts with little of the noise of its points", (k) => {
    const random = prng(7);
    const of = (x: number): number => 7e7 + 2e7 * x ** k;
    const errors = Array.from({ length: 200 }, () => {
      const x = [1, 2, 3, 4, 6];
      const law = fitPowerLaw(
        x,
        x.map((one) => of(one) * (1 + 0.03 * random.normal())),
      );
      const found = law && largestWithin(law, of(18));
      return found === null ? Number.NaN : Math.abs(found.x / 18 - 1);
    }).sort((a, b) => a - b);
    expect(errors[100]).toBeLessThan(0.05);
    expect(errors[180]).toBeLessThan(0.15);
  });

  it("needs five values that rise", () => {
    expect(fitPowerLaw(X.slice(0, 4), [1, 2, 3, 4])).toBeNull();
    expect(fitPowerLaw([1, 1, 2, 3, 4], [1, 1, 2, 3, 4])).toBeNull();
    expect(fitPowerLaw(X, [6, 5, 4, 3, 2, 1])).toBeNull();
    expect(fitPowerLaw([0, 1, 2, 3, 4], [1, 2, 3, 4, 5])).toBeNull();
  });

  it("a power law has no largest value below its constant part", () => {
    const law = fitPowerLaw(
      X,
      X.map((x) => 1e9 + 1e6 * x),
    );
    expect(law && largestWithin(law, 5e8)).toBeNull();
  });
});
