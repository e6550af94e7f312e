import { describe, expect, it } from "vitest";
import { teardownStart } from "./teardown.ts";

const values = (n: number, at: (i: number) => number) => Float64Array.from({ length: n }, (_, i) => at(i));

describe("teardownStart", () => {
  const kept = (v: Float64Array) => teardownStart({ x: v.map((_, i) => i), low: v, high: v }, 10);

  it("cuts the fall at the very end", () => {
    expect(kept(values(100, (i) => (i < 97 ? 500 : (100 - i) * 100)))).toBe(97);
    expect(kept(values(100, (i) => 500 + (i % 2)))).toBe(100);
  });

  it("cuts an end that is sampled half-way, above the begin of a steep rise", () => {
    expect(kept(values(200, (i) => (i < 199 ? i * 10 : 1600)))).toBe(199);
    expect(kept(values(200, (i) => (i < 198 ? i * 10 : i < 199 ? 1600 : 20)))).toBe(198);
  });

  it("cuts an end that rests half-way, in a process that waits for a processor", () => {
    const rests = (i: number) => (i < 145 ? i * 10 : i < 149 ? 1100 : 40);
    expect(kept(values(150, rests))).toBe(145);
    expect(kept(values(149, rests))).toBe(145);
  });

  it("keeps the last fall of a saw-tooth", () => {
    expect(kept(values(200, (i) => i * 10 - (i % 50) * 9))).toBe(200);
    expect(kept(values(201, (i) => i * 2 + (i % 40) * 20))).toBe(201);
  });

  it("keeps a fall that lasts and a dip that recovers", () => {
    expect(kept(values(100, (i) => (i < 80 ? 500 : 100)))).toBe(100);
    expect(kept(values(100, (i) => (i === 95 ? 100 : 500)))).toBe(100);
  });

  it("keeps a fall that is slower than any process frees its memory", () => {
    const MIB = 2 ** 20;
    const kept = (seconds: number) => {
      const v = values(400, (i) => (i < 380 ? i * MIB : (400 - i) * 19 * MIB));
      return teardownStart({ x: v.map((_, i) => (i / 20) * seconds * 1e9), low: v, high: v }, 8 * MIB);
    };
    expect(kept(0.5)).toBe(381);
    expect(kept(8)).toBe(400);
  });
});
