import { describe, expect, it } from "vitest";
import { knownWithin, type SessionValue, sessionBound } from "./sessions.ts";

const runs = (...nights: readonly (readonly number[])[]): readonly SessionValue[] =>
  nights.flatMap((values, night) => values.map((value) => ({ session: `night-${night}`, value })));

describe("the spread between sessions", () => {
  it("bounds a new session by Student's t over the levels of those seen", () => {
    // Levels 0, 10, 20: standard deviation 10; t(0.999, 2) = 22.327; 10 + 22.327 * 10 * sqrt(1 + 1/3).
    expect(sessionBound(runs([0], [10], [20]), [15, 15], 0, 0.001)).toBeCloseTo(10 + 22.327 * 10 * Math.sqrt(4 / 3), 0);
  });

  it("the spread between sessions is unknown with fewer than three sessions", () => {
    expect(sessionBound(runs([0, 1, 2, 3], [10, 11]), [15], 0, 0.001)).toBeNull();
  });

  it("excludes the spread within sessions", () => {
    // Pairs of runs 10 apart around levels that hardly differ: the sessions are alike.
    const alike = runs([0, 10], [1, 11], [0, 10], [2, 12], [1, 11]);
    const differ = runs([0, 1], [30, 31], [60, 61], [90, 91], [120, 121]);
    const of = (baseline: readonly SessionValue[]) => sessionBound(baseline, [200, 201], 0, 0.001) ?? Number.NaN;
    expect(of(alike)).toBeLessThan(60);
    expect(of(differ)).toBeGreaterThan(300);
  });

  it("tolerates one outlier of ten sessions", () => {
    const calm = [[0], [1], [2], [3], [4], [5], [6], [7], [8]];
    const bound = (last: number) => sessionBound(runs(...calm, [last]), [9, 9], 0, 0.001) ?? Number.NaN;
    expect(bound(1000)).toBeLessThan(2 * bound(9));
  });

  it("the spread within sessions is known from five degrees of freedom on", () => {
    expect(knownWithin(runs([0, 1, 2, 3, 4], [7]), 0)).toBeNull();
    expect(knownWithin(runs([0, 1, 2], [1000, 1001, 1002], [5, 6]), 0)).toBeLessThan(3);
  });
});
