import { describe, expect, it } from "vitest";
import { byProcess, snapshotName } from "./file-names.ts";

describe("snapshotName", () => {
  it.each([
    ["snapshot_rank1_step20.pickle", 1, 20],
    ["/runs/7/snap-Rank_03.pkl", 3, null],
    ["snapshot_step15.pickle", null, 15],
    ["iter-400.pickle", null, 400],
    ["memory_snapshot.pickle", null, null],
    ["frank5_footstep7.pickle", null, null],
    ["rank2/before.pickle", null, null],
  ])("reads from %s rank %s and step %s", (file, rank, step) => {
    expect(snapshotName(file)).toMatchObject({ rank, step });
  });

  it("reads the sample number of the probe's files", () => {
    expect(snapshotName("probe/4711.0.snapshot.3.pickle")).toMatchObject({ process: "process 4711.0", moment: 3 });
  });
});

describe("byProcess", () => {
  const order = (...files: string[]) =>
    byProcess(files.map((file) => ({ file, name: snapshotName(file) }))).map((group) => group.map(({ file }) => file));

  it("orders files by step when every file has one", () => {
    expect(order("step10", "step9", "step100")).toEqual([["step9", "step10", "step100"]]);
  });

  it("keeps the given order when a file has no step", () => {
    expect(order("step10", "last", "step9")).toEqual([["step10", "last", "step9"]]);
  });

  it("separates ranks and processes", () => {
    expect(order("rank1_b", "rank0_a", "rank1_a")).toEqual([["rank1_b", "rank1_a"], ["rank0_a"]]);
    expect(order("7.0.snapshot.1.pickle", "8.0.snapshot.0.pickle", "7.0.snapshot.0.pickle")).toEqual([
      ["7.0.snapshot.0.pickle", "7.0.snapshot.1.pickle"],
      ["8.0.snapshot.0.pickle"],
    ]);
  });
});
