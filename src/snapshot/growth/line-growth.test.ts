import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Frame, userFrames } from "../model/frames.ts";
import { growthByLine, type LiveSample, slopeOver, trendOf } from "./line-growth.ts";

const MIB = 2 ** 20;
const isUserFrame = userFrames({ root: "/repo" });
const at = (file: string, line: number, name = "f"): Frame => ({ file, line, function: name });
const LIBRARY = at("/usr/lib/python3.11/site-packages/torch/nn/functional.py", 7);
const LEAK = [LIBRARY, at("/repo/train.py", 48, "train"), at("/repo/train.py", 90, "main")];
const CHURN = [LIBRARY, at("/repo/model.py", 12, "forward")];

function samples(lines: readonly (readonly [readonly Frame[], readonly number[]])[], step = 10): LiveSample[] {
  const count = lines[0]?.[1].length ?? 0;
  return Array.from({ length: count }, (_, i) => {
    const entries = lines.map(([stack, bytes]) => ({ bytes: bytes[i] ?? 0, count: i + 1, kind: "tensor", stack }));
    return {
      step: i * step,
      timeNs: i * 2e9,
      totalBytes: entries.reduce((sum, { bytes }) => sum + bytes, 0),
      entries,
    };
  });
}

describe("growthByLine", () => {
  it("reports the line that leaks and not the one that churns, although the churn rose more between two samples", () => {
    const leak = [15, 30, 45, 60, 75].map((n) => n * MIB);
    const churn = [46, 72, 46, 80, 140].map((n) => n * MIB);
    const growth = growthByLine(
      samples([
        [CHURN, churn],
        [LEAK, leak],
      ]),
      isUserFrame,
    );
    expect(growth.lines).toHaveLength(1);
    expect(growth.lines[0]).toMatchObject({
      file: "/repo/train.py",
      line: 48,
      function: "train",
      user: true,
      trend: "grows",
      bytesPerStep: 1.5 * MIB,
      bytesPerSecond: 7.5 * MIB,
      growthBytes: 60 * MIB,
      countGrowth: 4,
      firstBytes: 15 * MIB,
      lastBytes: 75 * MIB,
    });
    expect(growth.lines[0]?.share).toBeCloseTo(60 / (60 + 94));
    expect(growth.discarded).toMatchObject([{ file: "/repo/model.py", trend: "churn" }]);
    expect(growth.totalGrowthBytes).toBe(154 * MIB);
  });

  it("leaves growth between two samples unproven", () => {
    const growth = growthByLine(
      samples([
        [CHURN, [46, 72]],
        [LEAK, [15, 30]],
      ]),
      isUserFrame,
    );
    expect(growth.lines.map(({ trend }) => trend)).toEqual(["unproven", "unproven"]);
  });

  it("reports nothing for one sample or none", () => {
    expect(growthByLine(samples([[LEAK, [5]]]), isUserFrame).explainedShare).toBeNull();
    expect(growthByLine([], isUserFrame).lines).toEqual([]);
  });

  it("names memory without a stack as such", () => {
    const growth = growthByLine(samples([[[], [1, 2, 3]]]), isUserFrame);
    expect(growth.lines[0]).toMatchObject({ file: "<no stack>", user: false });
  });

  it("falls back to the innermost frame when no frame is user code", () => {
    const growth = growthByLine(samples([[[LIBRARY], [1, 2, 3]]]), isUserFrame);
    expect(growth.lines[0]).toMatchObject({ file: LIBRARY.file, line: 7, user: false });
  });

  it("sums the stacks of a line and reports the one that grew most", () => {
    const other = [at("/repo/train.py", 48, "train"), at("/repo/eval.py", 3)];
    const growth = growthByLine(
      samples([
        [other, [1, 2, 3]],
        [LEAK, [10, 20, 30]],
      ]),
      isUserFrame,
    );
    expect(growth.lines).toHaveLength(1);
    expect(growth.lines[0]).toMatchObject({ growthBytes: 22, stack: LEAK });
  });

  it("never explains more than the whole growth, for any samples", () => {
    const bytes = fc.array(fc.integer({ min: 0, max: 1e12 }), { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(bytes, bytes, bytes, (a, b, c) => {
        const growth = growthByLine(
          samples([
            [LEAK, a],
            [CHURN, b],
            [[], c],
          ]),
          isUserFrame,
        );
        const sum = growth.lines.reduce((total, { share }) => total + share, 0);
        expect(sum).toBeLessThanOrEqual(1 + 1e-9);
        expect(growth.explainedShare ?? 0).toBeCloseTo(sum, 9);
        for (const line of growth.lines) expect(line.growthBytes).toBeGreaterThan(0);
      }),
    );
  });
});

describe("trendOf", () => {
  it.each([
    [[1, 2, 3], "grows"],
    [[0, 5, 5, 10, 10, 15], "grows"],
    [[0, 10, 10, 10, 10], "once"],
    [[0, 0, 0, 0, 10], "once"],
    [[0, 5, 10, 10, 10], "once"],
    [[0, 90, 30, 100], "churn"],
    [[0, 100, 95, 200], "grows"],
    [[1, 2], "unproven"],
    [[2, 1], null],
    [[5, 5, 5], null],
  ])("calls %j %s", (bytes, trend) => {
    expect(trendOf(bytes)).toBe(trend);
  });
});

describe("slopeOver", () => {
  it("slopeOver is null when a sample has no x, or all samples have the same x", () => {
    expect(slopeOver([0, null, 2], [1, 2, 3])).toBeNull();
    expect(slopeOver([4, 4, 4], [1, 2, 3])).toBeNull();
  });

  it("keeps its precision far from the origin", () => {
    expect(slopeOver([1e15, 1e15 + 1, 1e15 + 2], [0, 3, 6])).toBeCloseTo(3, 9);
  });
});
