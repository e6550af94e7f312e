import { expect, it } from "vitest";
import { addRuns, emptyRecord } from "../baseline/record.ts";
import { missingRuns } from "./refresh.ts";

const stored = (count: number) => ({
  name: "train/0.json",
  record: addRuns(
    emptyRecord("train", {}),
    Array.from({ length: count }, (_, run) => ({
      measured: { session: `s${run}`, commit: null, series: [] },
      timeIso: "2026-01-01T00:00:00.000Z",
      approved: true,
    })),
  ),
});

it("a refresh reports how many runs its baseline lacks, until it has five", () => {
  expect(missingRuns(stored(3))).toMatch(/has 3 runs .* peak and growth are unjudged.*`baseline refresh --runs 2`/);
  expect(missingRuns(stored(5))).toBeNull();
});
