import { describe, expect, it } from "vitest";
import { wilsonInterval } from "../bench/shared/wilson.ts";
import { CachingAllocator } from "../bench/verdict/corpus/allocator.ts";
import { injection, LEAK_SHAPES } from "../bench/verdict/corpus/inject.ts";
import { HEALTHY, LEAKING, runProgram } from "../bench/verdict/corpus/synthetic.ts";
import { minGrowth } from "../bench/verdict/parts/efficiency.ts";
import { seeded } from "../bench/verdict/random.ts";
import { tracemlBands } from "../bench/verdict/rules/published.ts";

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

describe("the allocator model", () => {
  it("rounds to 512 bytes and takes segments of 2, 20 or whole 2 MiB", () => {
    const allocator = new CachingAllocator();
    allocator.malloc(1);
    expect([allocator.allocated, allocator.reserved]).toEqual([512, 2 * MIB]);
    allocator.malloc(3 * MIB);
    expect(allocator.reserved).toBe(22 * MIB);
    // 17 MiB of that segment are free, which is too little.
    allocator.malloc(18 * MIB + 1);
    expect([allocator.allocated, allocator.reserved]).toEqual([512 + 21 * MIB + 512, 42 * MIB]);
  });

  it("joins what is freed and hands it out again", () => {
    const allocator = new CachingAllocator();
    const random = seeded(1);
    const blocks = Array.from({ length: 200 }, () => allocator.malloc(random() * 4 * MIB));
    const { reserved } = allocator;
    for (const block of blocks) allocator.release(block);
    expect(allocator.allocated).toBe(0);
    // Nothing is in use: every segment is whole again, so its full size fits without a new one.
    allocator.malloc(9.9 * MIB);
    allocator.malloc(9.9 * MIB);
    expect(allocator.reserved).toBe(reserved);
  });
});

describe("the corpus", () => {
  it.each(LEAK_SHAPES)("injects the stated growth: %s", (shape) => {
    const { values, growth } = injection(shape, 400, 100 * MIB, seeded(3));
    expect(growth).toBe(100 * MIB);
    const lowest = (part: Float64Array) => Math.min(...part);
    if (shape !== "under a saw-tooth") expect(values[399]! - values[0]!).toBe(growth);
    else expect(lowest(values.subarray(300)) - lowest(values.subarray(0, 100))).toBeGreaterThan(0.5 * growth);
  });

  it("a program of the corpus is the same for the same seed, and only leaking programs keep growing", () => {
    const program = LEAKING.steady!;
    expect(runProgram(program, 80, seeded(5))).toEqual(runProgram(program, 80, seeded(5)));
    const risen = ({ allocated }: { allocated: Float64Array }) => allocated[79]! - allocated[40]!;
    expect(risen(runProgram(program, 80, seeded(5)))).toBeGreaterThan(10 * MIB);
    expect(risen(runProgram(HEALTHY.constant!, 80, seeded(5)))).toBe(0);
    expect(Math.abs(risen(runProgram(HEALTHY["bounded cache"]!, 80, seeded(5))))).toBeLessThan(MIB);
  });
});

describe("the reference values", () => {
  it("wilsonInterval and minGrowth return the known reference values", () => {
    // As statsmodels' proportion_confint(method="wilson") gives them.
    expect(wilsonInterval({ hits: 0, tries: 448 })[1]).toBeCloseTo(0.0085, 4);
    expect(wilsonInterval({ hits: 20, tries: 20 })).toEqual([expect.closeTo(0.8389, 4), 1]);
    expect(wilsonInterval({ hits: 1, tries: 10 })).toEqual([expect.closeTo(0.0179, 4), expect.closeTo(0.4042, 4)]);
    expect(minGrowth(300, 0)).toBeCloseTo(0.72, 2);
    expect(minGrowth(300, 0.9)).toBeCloseTo(2.87, 2);
  });

  it("tracemlBands judges TraceML's own vectors as TraceML does", () => {
    const ramp = (n: number, from: number, to: number) =>
      Float64Array.from({ length: n }, (_, i) => GIB * (from + ((to - from) * i) / (n - 1)));
    expect(tracemlBands.judge(ramp(49, 4, 7.4), "level")).toBe("none");
    expect(tracemlBands.judge(ramp(50, 4, 4.1), "level")).toBe("rising");
    expect(tracemlBands.judge(ramp(50, 4, 7.4), "level")).toBe("leak");
    expect(tracemlBands.judge(ramp(60, 4, 4), "level")).toBe("other");
  });
});
