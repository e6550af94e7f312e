import { describe, expect, it } from "vitest";
import { CachingAllocator } from "../bench/verdict/heldout/caching-allocator.ts";
import { FAMILIES, heldOutCase } from "../bench/verdict/heldout/case.ts";
import { Draw } from "../bench/verdict/heldout/draw.ts";
import { answered } from "../bench/verdict/parts/heldout.ts";
import { SEEDS } from "../bench/verdict/seeds.ts";

const MIB = 2 ** 20;

describe("the held-out caching allocator", () => {
  it("hands out 512 bytes and takes 2 MiB, 20 MiB and multiples of 2 MiB from the driver", () => {
    const quantum = (bytes: number): readonly [number, number] => {
      const allocator = new CachingAllocator();
      allocator.alloc(bytes);
      return [allocator.allocated, allocator.reserved / MIB];
    };
    expect(quantum(1)).toEqual([512, 2]);
    expect(quantum(513)).toEqual([1024, 2]);
    expect(quantum(2 * MIB)).toEqual([2 * MIB, 20]);
    expect(quantum(11 * MIB)).toEqual([12 * MIB, 12]);
    expect(quantum(100 * MIB + 1)[1]).toBe(102);
  });

  it("never loses or doubles a byte, keeps what is freed, and returns all of it on request", () => {
    const draw = new Draw(7);
    const allocator = new CachingAllocator();
    const live: ReturnType<CachingAllocator["alloc"]>[] = [];
    for (let i = 0; i < 5000; i++) {
      if (live.length > 0 && draw.chance(0.5)) {
        const [block] = live.splice(draw.integer(0, live.length - 1), 1);
        if (block !== undefined) allocator.release(block);
      } else live.push(allocator.alloc(draw.logUniform(1, 64 * MIB)));
      expect(allocator.allocated).toBe(live.reduce((sum, { size }) => sum + size, 0));
      expect(allocator.reserved).toBeGreaterThanOrEqual(allocator.allocated);
    }
    for (const block of live) allocator.release(block);
    expect(allocator.allocated).toBe(0);
    allocator.emptyCache();
    expect(allocator.reserved).toBe(0);
  });

  it("serves a repeated pattern from its cache", () => {
    const allocator = new CachingAllocator();
    const once = () => {
      for (const block of [3, 30, 0.1, 7].map((size) => allocator.alloc(size * MIB))) allocator.release(block);
    };
    once();
    const { reserved } = allocator;
    for (let i = 0; i < 100; i++) once();
    expect(allocator.reserved).toBe(reserved);
  });
});

describe("held-out recordings", () => {
  it("held-out recordings are the same bytes for the same seed and others for another", () => {
    const [family] = FAMILIES;
    if (family === undefined) throw new Error("no family");
    const columns = (seed: number) => heldOutCase(seed, family, 3).recording.tables.map((table) => table.columns);
    expect(columns(1)).toEqual(columns(1));
    expect(columns(1)).not.toEqual(columns(2));
  });

  it.each(FAMILIES.map((family) => [family.name, family] as const))(
    "held-out recordings of %s have the stated properties",
    (_, family) => {
      for (let index = 0; index < 3; index++) {
        const one = heldOutCase(SEEDS.tuning, family, index);
        const answer = answered(one);
        expect(answer.series.samples).toBeGreaterThanOrEqual(20);
        if (family.truth === "leak") expect(answer.floors).toBeGreaterThan(0.5);
        else expect(one.leaked).toBe(0);
      }
    },
  );
});
