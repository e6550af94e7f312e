import { describe, expect, it } from "vitest";
import type { NativeSample, NativeStack } from "../../snapshot/growth/native-document.ts";
import { sourceOf } from "../../snapshot/pickle/window.ts";
import { readSnapshot } from "../../snapshot/read.ts";
import { pickled, tuple } from "../../snapshot/testing/pickle-writer.ts";
import { heldInHeap, heldOnDevice } from "./held-parts.ts";

const INTERVAL = 65_536;
const OPTIONS = { isUserFrame: () => true, relative: (file: string) => file.replace("/repo/", "") };

const stack = (bytes: number, count: number, line: number): NativeStack => ({
  bytes,
  count,
  parts: [{ category: null, phase: null, kept: false, bytes, count }],
  isPython: false,
  native: [],
  python: [{ file: "/repo/train.py", line, function: "main", called: "zeros" }],
});
const sample = (stacks: readonly NativeStack[]): NativeSample => ({
  pid: 7,
  moment: 0,
  step: null,
  timeNs: 1,
  intervalBytes: INTERVAL,
  totalBytes: 0,
  heapBytes: null,
  categories: null,
  inputs: {},
  notes: [],
  stacks,
  mappings: [],
});

/** Allocations of one size under a Poisson process over their bytes, as the preloaded library samples them. */
function drawn(size: number, allocations: number, random: () => number): { bytes: number; count: number } {
  const chance = -Math.expm1(-size / INTERVAL);
  let count = 0;
  for (let at = 0; at < allocations; at++) if (random() < chance) count += 1;
  return { bytes: (count * size) / chance, count };
}

function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe("what lines hold at a peak", () => {
  it("memory held at a device's peak is unknown without an allocation history", () => {
    const frames = [{ filename: "/repo/train.py", line: 3, name: "main" }];
    const block = { address: 512, size: 1024, requested_size: 1024, state: "active_allocated", frames };
    const segment = {
      device: 0,
      address: 512,
      total_size: 1024,
      stream: 0,
      segment_pool_id: tuple(0, 0),
      blocks: [block],
    };
    const held = (traces: readonly object[]) => {
      const file = pickled({ segments: [segment], device_traces: [traces] } as never);
      return heldOnDevice([readSnapshot(sourceOf(file), "a")], 0, OPTIONS).parts.map(({ at, bytes }) => [
        at.line,
        bytes,
      ]);
    };
    expect(held([{ action: "alloc", addr: 512, size: 1024, stream: 0, time_us: 1, frames }])).toEqual([[3, 1024]]);
    expect(held([])).toEqual([]);
  });

  it("heldInHeap lists the lines of all stacks and processes, named from the top of the code, most first", () => {
    const { parts } = heldInHeap([sample([stack(100, 1, 3), stack(500, 2, 9)]), sample([stack(450, 1, 3)])], OPTIONS);
    expect(parts.map(({ at, bytes, called }) => [at.file, at.line, bytes, called])).toEqual([
      ["train.py", 9, 500, "zeros"],
      ["train.py", 3, 450, "zeros"],
      ["train.py", 3, 100, "zeros"],
    ]);
  });

  it.each([
    ["small", 200, 40_000],
    ["of the interval's size", INTERVAL, 120],
    ["of four intervals", 4 * INTERVAL, 100],
  ])("the variance of a line covers the sampling error of allocations that are %s", (_, size, allocations) => {
    const random = generator(7);
    const tries = 400;
    let [outside, sumOfSquares, claimed] = [0, 0, 0];
    for (let at = 0; at < tries; at++) {
      const { bytes, count } = drawn(size, allocations, random);
      const [line] = heldInHeap([sample([stack(bytes, count, 3)])], OPTIONS).parts;
      const [error, variance] = [bytes - size * allocations, line?.variance ?? 0];
      if (Math.abs(error) > 3 * Math.sqrt(variance)) outside += 1;
      sumOfSquares += error ** 2 / tries;
      claimed += variance / tries;
    }
    expect(outside).toBeLessThanOrEqual(4);
    // Never too small, and not so large that it hides a line.
    expect(claimed / sumOfSquares).toBeGreaterThan(0.8);
    expect(claimed / sumOfSquares).toBeLessThan(4);
  });
});
