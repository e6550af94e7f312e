import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { MeasuredRun } from "../analysis/measurements.ts";
import { runsOfJobs } from "./job-runs.ts";

const run = (session: string, rank: number, peak_bytes: number, more: Partial<MeasuredRun> = {}): MeasuredRun => ({
  session,
  commit: "c",
  series: [{ rank, device: "host", metric: "host", peak_bytes }],
  ...more,
});

const shown = (runs: readonly MeasuredRun[]) =>
  runs.map(({ session, series }) => [session, series.map(({ rank, peak_bytes }) => [rank, peak_bytes])]);

describe("runs of ranks that were measured separately", () => {
  it("ranks of one session are merged into one run of their job, including an out-of-memory error of any rank", () => {
    const united = runsOfJobs([run("a", 0, 1), run("a", 1, 2, { oom: true }), run("a", 2, 3)]);
    expect(shown(united)).toEqual([
      [
        "a",
        [
          [0, 1],
          [1, 2],
          [2, 3],
        ],
      ],
    ]);
    expect(united[0]).toMatchObject({ commit: "c", oom: true });
  });

  it("runs of different sessions, or of the same rank, stay separate", () => {
    expect(shown(runsOfJobs([run("a", 0, 1), run("b", 0, 2), run("a", 0, 3), run("b", 1, 4)]))).toEqual([
      ["a", [[0, 1]]],
      ["a", [[0, 3]]],
      [
        "b",
        [
          [0, 2],
          [1, 4],
        ],
      ],
    ]);
  });

  it("runs of ranks are matched in the order in which each rank was measured", () => {
    const runs = [run("a", 0, 1), run("a", 0, 2), run("a", 1, 3), run("a", 1, 4), run("a", 1, 5)];
    expect(shown(runsOfJobs(runs))).toEqual([
      [
        "a",
        [
          [0, 1],
          [1, 3],
        ],
      ],
      [
        "a",
        [
          [0, 2],
          [1, 4],
        ],
      ],
      ["a", [[1, 5]]],
    ]);
  });

  it("merged runs of ranks keep every series exactly once", () => {
    const arbitrary = fc.array(fc.tuple(fc.constantFrom("a", "b"), fc.integer({ min: 0, max: 4 }), fc.nat()));
    fc.assert(
      fc.property(arbitrary, (all) => {
        const united = runsOfJobs(all.map(([session, rank, peak]) => run(session, rank, peak)));
        const flat = united.flatMap(({ session, series }) => series.map((one) => [session, one.rank, one.peak_bytes]));
        expect(flat.map(String).sort()).toEqual(all.map(String).sort());
        for (const { series } of united) expect(new Set(series.map(({ rank }) => rank)).size).toBe(series.length);
      }),
    );
  });
});
