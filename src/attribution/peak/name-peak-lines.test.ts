import { describe, expect, it } from "vitest";
import { higherLines, largestLines, type ReadPart } from "./name-peak-lines.ts";

const MIB = 2 ** 20;

const held = (line: number, mebibytes: number, more: Partial<ReadPart> & { name?: string } = {}): ReadPart => ({
  at: { file: "train.py", line, function: more.name ?? "main" },
  python: true,
  category: null,
  phase: null,
  bytes: mebibytes * MIB,
  variance: 0,
  stack: [],
  called: null,
  place: null,
  isInterpreter: false,
  code: null,
  ...more,
});
const named = (after: readonly ReadPart[], before: readonly ReadPart[], difference: number) =>
  higherLines(after, before, difference * MIB).map(({ line, before: base, share }) => [
    line.at.line,
    (line.bytes - (base ?? 0)) / MIB,
    Math.round(100 * share),
  ]);

describe("the lines that hold more than on the base", () => {
  it("higher lines are named by their part of the judged difference, and small ones are left out", () => {
    const before = [held(3, 100), held(5, 10), held(9, 4)];
    const after = [held(3, 160), held(5, 25), held(9, 6)];
    expect(named(after, before, 77)).toEqual([
      [3, 60, 78],
      [5, 15, 19],
    ]);
  });

  it("a line that an edit moved is compared with itself by its text", () => {
    const before = [held(3, 100, { code: "x = zeros(n)" }), held(4, 50, { code: "y = ones(n)" })];
    const after = [held(4, 100, { code: "x = zeros(n)" }), held(5, 90, { code: "y = ones(n)" })];
    expect(named(after, before, 40)).toEqual([[5, 40, 100]]);
  });

  it("lines that an edit rewrote are compared as one function", () => {
    const before = [held(3, 100, { code: "a = f(1)" })];
    const after = [held(3, 90, { code: "a = g(1)" }), held(4, 50, { code: "b = g(2)" })];
    // Not "90 MiB more than nothing": the function held 100.
    expect(named(after, before, 40)).toEqual([[3, 40, 100]]);
  });

  it("the list of higher lines is empty within sampling error, and where no line has a fifth", () => {
    const noisy = (line: number, mebibytes: number) => held(line, mebibytes, { variance: (10 * MIB) ** 2 });
    expect(named([noisy(3, 130)], [noisy(3, 100)], 30)).toEqual([]);
    const many = (each: number) => Array.from({ length: 10 }, (_, at) => held(at + 1, each));
    expect(named(many(20), many(10), 100)).toEqual([]);
  });

  it("largestLines returns the lines that hold most, without a base", () => {
    const lines = largestLines([held(3, 60), held(5, 30), held(9, 1)], 100 * MIB);
    expect(lines.map(({ line, before, share }) => [line.at.line, before, share])).toEqual([
      [3, null, 0.6],
      [5, null, 0.3],
    ]);
    const spread = [held(3, 10), held(3, 9, { at: { ...held(3, 9).at, function: "inner" } }), held(5, 17)];
    expect(largestLines(spread, 100 * MIB).map(({ line, share }) => [line.at.line, share])).toEqual([
      [3, 0.19],
      [5, 0.17],
    ]);
  });
});
