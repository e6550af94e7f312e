import { expect, it } from "vitest";
import { noisy } from "../analysis/testing/shapes.ts";
import { findPeriod } from "./dominant-period.ts";
import { prng } from "./testing/prng.ts";

const saw = (n: number, period: number, slope = 0) =>
  Float64Array.from({ length: n }, (_, i) => (i % period) + slope * i);

it("finds the period of a saw-tooth, also on a slope", () => {
  expect(findPeriod(saw(300, 10))).toBe(10);
  expect(findPeriod(saw(300, 10, 0.5))).toBe(10);
});

it("needs twelve cycles", () => {
  expect(findPeriod(saw(300, 60))).toBe(1);
});

it("finds no period in noise, in a constant or in a few points", () => {
  for (let seed = 1; seed <= 50; seed++) expect(findPeriod(noisy(5)(120, prng(seed)))).toBe(1);
  expect(findPeriod(new Float64Array(100).fill(3))).toBe(1);
  expect(findPeriod(saw(20, 5))).toBe(1);
});
