import { describe, expect, it } from "vitest";
import { rankSumPValue } from "./rank-sum.ts";

describe("the rank-sum test", () => {
  it("the p-value of two separated samples is that of one division among all", () => {
    expect(rankSumPValue([4, 5, 6], [1, 2, 3])).toBeCloseTo(1 / 20, 12);
    expect(rankSumPValue([1, 2, 3], [4, 5, 6])).toBe(1);
  });

  it("the p-value of tied values counts every division with the same rank sum", () => {
    expect(rankSumPValue([1, 1], [1, 1, 1])).toBe(1);
    // Of the 70 divisions of 0 0 1 1 1 1 2 2, those that take both 2 and two of the four 1.
    expect(rankSumPValue([1, 1, 2, 2], [0, 0, 1, 1])).toBeCloseTo(6 / 70, 12);
  });

  it("the p-value agrees with an enumeration of all divisions", () => {
    const values = [3, 1, 4, 1, 5, 9, 2, 6, 5];
    const rank = (value: number) =>
      values.filter((other) => other < value).length + values.filter((other) => other === value).length / 2;
    const sumOf = (members: readonly number[]) => members.reduce((sum, value) => sum + rank(value), 0);
    const sums = Array.from({ length: 2 ** values.length }, (_, mask) =>
      values.filter((_, at) => (mask & (1 << at)) !== 0),
    )
      .filter((chosen) => chosen.length === 4)
      .map(sumOf);
    const observed = sumOf(values.slice(0, 4));
    const share = sums.filter((sum) => sum >= observed).length / sums.length;
    expect(rankSumPValue(values.slice(0, 4), values.slice(4))).toBeCloseTo(share, 12);
  });

  it("a side without values shows nothing", () => {
    expect(rankSumPValue([], [1])).toBe(1);
    expect(rankSumPValue([1], [])).toBe(1);
  });
});
