import { describe, expect, it } from "vitest";
import { fitPowerLaw, largestWithin } from "./power-law.ts";
import { prng } from "./testing/prng.ts";

const X = [1, 2, 4, 8, 16, 32];

describe("a power law", () => {
  it.each([0.5, 1, 1.5, 2, 3])("is found exactly without noise at exponent %d", (k) => {
    const law = fitPowerLaw(
      X,
      X.map((x) => 2e8 + 3e5 * x ** k),
    );
    expect(law?.k).toBeCloseTo(k, 1);
    expect(Math.abs((law?.a ?? 0) / 2e8 - 1)).toBeLessThan(0.02);
    expect(law?.low).toBeLessThanOrEqual(k);
    expect(law?.high).toBeGreaterThanOrEqual(k);
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

  it("needs five values that rise", () => {
    expect(fitPowerLaw(X.slice(0, 4), [1, 2, 3, 4])).toBeNull();
    expect(fitPowerLaw([1, 1, 2, 3, 4], [1, 1, 2, 3, 4])).toBeNull();
    expect(fitPowerLaw(X, [6, 5, 4, 3, 2, 1])).toBeNull();
    expect(fitPowerLaw([0, 1, 2, 3, 4], [1, 2, 3, 4, 5])).toBeNull();
  });

  it("has no largest value below its constant part", () => {
    const law = fitPowerLaw(
      X,
      X.map((x) => 1e9 + 1e6 * x),
    );
    expect(law && largestWithin(law, 5e8)).toBeNull();
  });
});
