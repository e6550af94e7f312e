import { describe, expect, it } from "vitest";
import { AllocatorKind } from "../../sampler/record-layout.ts";
import { StreamsBuilder } from "./recorded-streams.ts";

const MS = 1e6;

describe("records of a probe", () => {
  it("probe records that are late by less than a second are kept in the order they were written", () => {
    const builder = new StreamsBuilder();
    const sample = (ms: number) => builder.sample(5, ms * MS, [1, 1, 1, Number.NaN], 1);
    expect(builder.stream(5, [9, AllocatorKind.hostHeap, 0, 0])).toBe(true);
    expect([sample(1010), sample(1008), sample(9)]).toEqual([true, true, false]);
    // The step of a ring's header has the time of the tick, and the ring's own records were written after it.
    expect([builder.step(9, 1020 * MS, 3), builder.step(9, 1018 * MS, 4)]).toEqual([true, true]);
    expect(builder.step(9, 19 * MS, 5)).toBe(false);
    const { streams, steps } = builder.take(new Set());
    expect([...streams[0]!.timeNs]).toEqual([1010 * MS, 1010 * MS]);
    expect([...steps[0]!.timeNs]).toEqual([1020 * MS, 1020 * MS]);
    expect([...steps[0]!.steps]).toEqual([3, 4]);
  });
});
