import { describe, expect, it } from "vitest";
import { blockMeanAutocorrelation } from "./block-mean-autocorrelation.ts";
import { slopePValue, testSlope } from "./slope-p-value.ts";
import { prng } from "./testing/prng.ts";

const TRIES = 300;

/** AR(1) noise of unit variance on a line with a total growth of `growth`. */
function series(seed: number, n: number, phi: number, growth = 0): Float64Array {
  const random = prng(seed);
  let noise = random.normal();
  return Float64Array.from({ length: n }, (_, i) => {
    if (i > 0) noise = phi * noise + Math.sqrt(1 - phi * phi) * random.normal();
    return noise + (growth * i) / (n - 1);
  });
}

const shareBelow = (level: number, n: number, phi: number, growth = 0): number =>
  Array.from({ length: TRIES }, (_, k) => slopePValue(series(1000 * n + k, n, phi, growth), 1e-6)).filter(
    (pValue) => pValue < level,
  ).length / TRIES;

describe("slopePValue", () => {
  it("keeps its level without growth, in white noise and in AR(1) 0.9 from 240 points on", () => {
    expect(shareBelow(0.01, 240, 0)).toBeLessThanOrEqual(0.017);
    expect(shareBelow(0.01, 240, 0.9)).toBeLessThanOrEqual(0.017);
    expect(shareBelow(0.1, 240, 0)).toBeGreaterThan(0.02);
  });

  it("gives at most 2 % false alarms in 60 points of AR(1) 0.9, which wander like a trend", () => {
    expect(shareBelow(0.003, 60, 0.9)).toBeLessThanOrEqual(0.02);
  });

  it("slopePValue is below 0.3 % nine times in ten for growth of twice the Cramér–Rao minimum", () => {
    expect(shareBelow(0.003, 240, 0, 2 * 0.8)).toBeGreaterThan(0.95);
    expect(shareBelow(0.003, 240, 0.9, 2 * 3.1)).toBeGreaterThan(0.95);
  });

  it("finds growth of its critical value every second time", () => {
    for (const phi of [0, 0.9]) {
      const critical = Array.from({ length: 40 }, (_, k) => testSlope(series(k, 240, phi), 1e-6).critical(0.003));
      const usual = critical.sort((a, b) => a - b)[20]!;
      expect(shareBelow(0.003, 240, phi, usual)).toBeGreaterThan(0.3);
      expect(shareBelow(0.003, 240, phi, usual)).toBeLessThan(0.75);
    }
  });

  it("slopePValue is almost 0 for a line without noise and one half for a constant", () => {
    const line = Float64Array.from({ length: 50 }, (_, i) => 1e6 * i);
    expect(slopePValue(line, 100)).toBeLessThan(1e-10);
    expect(
      slopePValue(
        line.map((value) => -value),
        100,
      ),
    ).toBeGreaterThan(1 - 1e-10);
    expect(slopePValue(new Float64Array(50).fill(7), 100)).toBeCloseTo(0.5, 10);
  });
});

describe("blockMeanAutocorrelation", () => {
  const mean = (phi: number) =>
    Array.from({ length: 50 }, (_, k) => blockMeanAutocorrelation(series(k, 240, phi), 24)).reduce((a, b) => a + b, 0) /
    50;

  it("blockMeanAutocorrelation is small in white noise and near its true value in AR(1) 0.9", () => {
    expect(mean(0)).toBeLessThan(0.05);
    // Means of ten points each: 0.9 (1 − 0.9¹⁰)² / 0.01 over 10 · 19 − 2 · 0.9 (1 − 0.9¹⁰) / 0.01.
    expect(mean(0.9)).toBeGreaterThan(0.35);
    expect(mean(0.9)).toBeLessThan(0.6);
  });

  it("ignores a slope and jumps", () => {
    const noise = series(3, 240, 0);
    const moved = noise.map((value, i) => value + i / 10 + (i > 90 ? 50 : 0) + (i > 170 ? 80 : 0));
    expect(blockMeanAutocorrelation(moved, 24)).toBeLessThan(0.1);
    expect(blockMeanAutocorrelation(new Float64Array(240).fill(5), 24)).toBe(0);
    expect(
      blockMeanAutocorrelation(
        Float64Array.from({ length: 240 }, (_, i) => (i < 120 ? 0 : 64)),
        24,
      ),
    ).toBe(0);
  });
});
