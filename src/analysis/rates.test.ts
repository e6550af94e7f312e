import { describe, expect, it } from "vitest";
import { prng } from "../stats/testing/prng.ts";
import { analyze } from "./analyze.ts";
import { recordingOf, tableOf } from "./testing/recordings.ts";

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const column = (count: number, value: (i: number) => number) =>
  Float64Array.from({ length: count }, (_, i) => value(i));
const only = (table: ReturnType<typeof tableOf>) => analyze(recordingOf([table])).series[0]!;

describe("the rates of a growing series", () => {
  it.each([7, 10, 20, 23])("the slope per step is reported where %s steps are judged by the clock", (steps) => {
    // 40 samples a step; 50 MiB a step.
    const count = 40 * steps;
    const series = only(
      tableOf(
        { allocated: column(count, (i) => MIB * (1000 + (50 * i) / 40)) },
        { steps: column(count, (i) => Math.floor(i / 40)) },
      ),
    );
    expect(series.class).toBe("leak");
    expect(Math.abs(series.slope_bytes_per_step! / MIB / 50 - 1)).toBeLessThan(0.02);
  });

  it("rates give the time to out of memory from what was reached before the program freed its memory", () => {
    // 1 MiB a second from 2000 MiB on, of 4 GiB; at the end everything is freed.
    const count = 1000;
    const allocated = column(count, (i) => (i < count - 10 ? MIB * (2000 + i / 10) : 0));
    const series = only(tableOf({ allocated, total: column(count, () => 4 * GIB) }));
    expect(series.class).toBe("leak");
    expect(Math.abs(series.seconds_to_oom! - 1996)).toBeLessThan(20);
  });

  it.each([
    [100, 0.6],
    [100, 0.8],
    [50, 0.85],
  ])("rates and growth are those of the line where the level jumps by %s MiB at %s of the run", (jump, at) => {
    const random = prng(5);
    const grown = (x: number) => 100 * x + (x > at ? jump : 0);
    const series = only(tableOf({ allocated: column(1000, (i) => MIB * (1024 + grown(i / 999) + random.normal())) }));
    expect(["leak", "rising"]).toContain(series.class);
    expect(Math.abs(series.slope_bytes_per_s! / MIB - 1)).toBeLessThan(0.1);
    expect(Math.abs(series.growth_bytes! / MIB - 100)).toBeLessThan(10);
  });

  it("rates are those of the rows with a time where the clock is the axis", () => {
    const timeNs = column(200, (i) => (i < 160 ? i * 1e8 : Number.NaN));
    const series = only(tableOf({ allocated: column(200, (i) => MIB * (1000 + i)) }, { timeNs }));
    expect(series.class).toBe("leak");
    expect(Math.abs(series.slope_bytes_per_s! / MIB - 10)).toBeLessThan(0.1);
  });

  it("the slope per second is unknown where the clock is missing at the end", () => {
    const timeNs = column(200, (i) => (i < 80 ? i * 1e8 : Number.NaN));
    const steps = column(200, (i) => i);
    const series = only(tableOf({ allocated: column(200, (i) => MIB * (1000 + i)) }, { timeNs, steps }));
    expect(series).toMatchObject({ class: "leak", slope_bytes_per_s: null, duration_s: null });
  });
});

describe("a queue that fills under load and drains", () => {
  // MiB in use at 44 equally spaced times of 20.7 s: what the C heap of a program had whose producer was 10 % faster
  // than its consumer.
  const QUEUE = [
    4, 7, 8, 11, 12, 14, 15, 16, 19, 21, 24, 26, 28, 30, 32, 34, 36, 38, 40, 43, 44, 47, 48, 51, 53, 55, 58, 60, 62, 65,
    67, 70, 74, 76, 78, 80, 83, 85, 87, 88, 74, 54, 34, 12,
  ];
  const inUse = (i: number) => {
    const [at, share] = [Math.floor(i / 22), (i % 22) / 22];
    return MIB * (QUEUE[at]! + share * ((QUEUE[at + 1] ?? 2) - QUEUE[at]!));
  };
  const classOf = (value: (i: number) => number) =>
    only(tableOf({ allocated: column(22 * 44, value) }, { device: "host", intervalS: 20.7 / (22 * 44) }));

  it("a queue that drains to its beginning has not grown, and one of which half is kept has", () => {
    const drained = classOf(inUse);
    expect(drained.class).toBe("spike");
    expect(drained.growth_bytes).toBeLessThan(4 * MIB);
    const kept = classOf((i) => inUse(i) + (MIB * i) / 20);
    expect(kept.class).not.toBe("spike");
    expect(kept.growth_bytes).toBeGreaterThan(16 * MIB);
  });
});

describe("growth below a regular cycle", () => {
  /** Cycles of half a second, read 25 times each. @param swing MiB  @param grown MiB, over the share of the run */
  const classOf = (cycles: number, swing: number, grown: (x: number) => number, seed: number) => {
    const random = prng(seed);
    const ends = [0];
    while (ends.length <= cycles) ends.push(ends.at(-1)! + 0.5 * (1 + 0.01 * random.normal()));
    let cycle = 0;
    const count = Math.floor(ends.at(-1)! / 0.02);
    const allocated = column(count, (i) => {
      while (ends[cycle + 1]! < 0.02 * i) cycle += 1;
      const phase = (0.02 * i - ends[cycle]!) / (ends[cycle + 1]! - ends[cycle]!);
      const at = swing * (1 - Math.abs(2 * phase - 1));
      return MIB * (1000 + at + grown(i / count) + 0.5 * random.normal());
    });
    return only(tableOf({ allocated }, { intervalS: 0.02 })).class;
  };
  const draws = Array.from({ length: 12 }, (_, seed) => seed + 1);

  it.each([60, 120])("growth below %s regular cycles is found where a cycle is a whole number of points", (cycles) => {
    const found = draws.map((seed) => classOf(cycles, 300, (x) => 100 * x, seed));
    expect(found.filter((one) => one !== "leak" && one !== "rising")).toEqual([]);
  });

  it("growth below a regular cycle that begins late is a leak or rising, and a jump is a step", () => {
    const late = draws.map((seed) => classOf(37, 100, (x) => 500 * Math.max(0, x - 0.7), seed));
    expect(late.filter((one) => one !== "leak" && one !== "rising")).toEqual([]);
    expect(draws.map((seed) => classOf(37, 100, (x) => (x < 0.7 ? 0 : 150), seed))).toEqual(draws.map(() => "step"));
  });
});
