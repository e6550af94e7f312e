import { describe, expect, it } from "vitest";
import { table } from "../testing/recordings.ts";
import { combinedTables, firstAfter, heldAt, onCommonClock } from "./common-clock.ts";

const NaN_ = Number.NaN;
const f = (...values: number[]) => Float64Array.from(values);

describe("a sample on another clock", () => {
  it("a sample on another clock is the last known one before, or none when that is older than two seconds", () => {
    const held = heldAt(f(1e9, 2e9, 3e9), f(10, NaN_, 30), f(0, 1e9, 2.5e9, 3e9, 5e9, 5.1e9));
    expect(held).toEqual(f(NaN_, 10, 10, 30, 30, NaN_));
  });
});

describe("tables of one rank and device with disjoint columns", () => {
  const used = table({ device: "cuda:0", timeNs: f(0, 20, 40), columns: { used: f(5, 6, 7), total: f(9, 9, 9) } });
  const own = table({ device: "cuda:0", timeNs: f(10, 20, 30), steps: f(1, 1, 2), columns: { allocated: f(1, 2, 3) } });

  it("tables of one rank and device with disjoint columns are joined, with a row for every time of either", () => {
    expect(onCommonClock([used, own])).toMatchObject({
      timeNs: f(0, 10, 20, 30, 40),
      columns: { used: f(5, 5, 6, 6, 7), total: f(9, 9, 9, 9, 9), allocated: f(NaN_, 1, 2, 3, 3) },
    });
  });

  it("stay unchanged when they cannot be joined", () => {
    const shard = table({ device: "cuda:0", timeNs: f(50), columns: { used: f(1) } });
    expect(onCommonClock([used, shard])).toBeNull();
    expect(onCommonClock([used, { ...own, timeNs: null }])).toBeNull();
    expect(onCommonClock([used, { ...own, timeNs: f(30, 20, 10) }])).toBeNull();
    const host = table();
    expect(combinedTables([host, used, shard])).toEqual([host, used, shard]);
    expect(combinedTables([host, used, own])).toHaveLength(2);
  });
});

describe("firstAfter", () => {
  it("counts the times that are not later", () => {
    const times = f(10, 20, 20, 30);
    expect([0, 10, 19, 20, 99, NaN_].map((time) => firstAfter(times, time))).toEqual([0, 1, 1, 3, 4, 0]);
  });
});
