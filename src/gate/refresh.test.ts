import { expect, it } from "vitest";
import type { MeasuredSeries } from "../analysis/measurements.ts";
import { addRuns, emptyRecord } from "../baseline/record-changes.ts";
import { hiddenGrowth, incompleteBaseline } from "./refresh.ts";

const stored = (count: number, series: readonly MeasuredSeries[] = []) => ({
  name: "train/0.json",
  record: addRuns(
    emptyRecord("train", {}),
    Array.from({ length: count }, (_, run) => ({
      measured: { session: `s${run}`, commit: null, series },
      timeIso: "2026-01-01T00:00:00.000Z",
      approved: true,
    })),
  ),
});

it("a refresh reports how many runs its baseline lacks, until it has five", () => {
  expect(incompleteBaseline(stored(3))).toMatch(
    /has 3 runs .* peak and growth are unjudged.*`baseline refresh --runs 2`/,
  );
  expect(incompleteBaseline(stored(5))).toBeNull();
});

it("a refresh warns of a baseline that grows like a leak, unless its runs know what the heap keeps", () => {
  const of = (metric: MeasuredSeries["metric"], label: MeasuredSeries["class"]): MeasuredSeries => ({
    rank: 0,
    device: "host",
    metric,
    peak_bytes: 2 ** 26,
    growth_bytes: 2 ** 25,
    class: label,
  });
  expect(hiddenGrowth(stored(5, [of("host", "leak")]))).toMatch(/like a leak in 5 of 5 runs .* is not known/);
  expect(hiddenGrowth(stored(5, [of("host", "flat")]))).toBeNull();
  expect(hiddenGrowth(stored(5, [of("host", "leak"), of("js_heap", "insufficient")]))).toBeNull();
});
