import { describe, expect, it } from "vitest";
import type { MeasuredSeries } from "../analysis/measurements.ts";
import { acceptRuns, emptyRecord, type NewRun } from "../baseline/record-changes.ts";
import { MIB } from "../core/units.ts";
import { acceptedLevels } from "./accepted-levels.ts";

const HOST = { rank: 0, device: "host", metric: "host", growth_bytes: 0, class: "flat" } as const;

const runOf = (...series: readonly MeasuredSeries[]): NewRun => ({
  measured: { session: "s", commit: null, series },
  timeIso: "2026-11-28T10:00:00Z",
  approved: true,
});

const accepted = (...epochs: readonly (readonly NewRun[])[]) =>
  acceptedLevels(
    epochs.reduce((record, runs) => acceptRuns(record, runs, "accepted"), emptyRecord("train", { os: "linux" })),
  );

describe("the levels that an acceptance prints", () => {
  it("a first level is printed by its median", () => {
    const runs = [40, 44, 42].map((mib) => runOf({ ...HOST, peak_bytes: mib * MIB }));
    expect(accepted(runs)).toEqual(["Host: peak 42.0 MiB"]);
  });

  it("a higher peak and a new leak are printed beside the level before them", () => {
    const flat = [runOf({ ...HOST, peak_bytes: 44 * MIB })];
    const leak = [runOf({ ...HOST, class: "leak", growth_bytes: 20 * MIB, peak_bytes: 60 * MIB })];
    const passes = "A leak that makes host memory grow as much passes from now on";
    expect(accepted(flat, leak)).toEqual(["Host: peak 60.0 MiB, was 44.0 MiB; growth 20.0 MiB, was 0", passes]);
    expect(accepted(leak)).toEqual(["Host: peak 60.0 MiB; growth 20.0 MiB", passes]);
    expect(accepted(leak, leak).at(-1)).toBe(passes);
    expect(accepted(leak, flat)).toEqual(["Host: peak 44.0 MiB, was 60.0 MiB; growth 0, was 20.0 MiB"]);
  });

  it("a level within a hundredth of the one before it is one line, and metrics on request are not printed", () => {
    const before = [runOf({ ...HOST, peak_bytes: 44 * MIB }, { ...HOST, metric: "host_sum", peak_bytes: 50 * MIB })];
    const after = [runOf({ ...HOST, peak_bytes: 44.1 * MIB }, { ...HOST, metric: "host_sum", peak_bytes: 90 * MIB })];
    expect(accepted(before, after)).toEqual(["Peaks within 1 % of the level before it, no new growth"]);
  });

  it("series of several ranks are named, the first four of them", () => {
    const level = (mib: number) =>
      runOf(...[0, 1, 2, 3, 4, 5].map((rank) => ({ ...HOST, rank, peak_bytes: mib * MIB })));
    const printed = accepted([level(44)], [level(60)]);
    expect(printed[0]).toBe("Host of rank 0 on host: peak 60.0 MiB, was 44.0 MiB");
    expect(printed.slice(4)).toEqual(["and 2 more series"]);
  });
});
