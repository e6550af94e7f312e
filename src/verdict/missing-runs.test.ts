import { describe, expect, it } from "vitest";
import { MIB } from "../core/units.ts";
import { missingRuns } from "./missing-runs.ts";
import { DEFAULT_POLICY } from "./model/defaults.ts";
import { measured, nights, runOf } from "./testing/measurements.ts";

const missing = (peak: number, baseRunsPossible = true) =>
  missingRuns({
    candidate: measured([runOf("pr", { peak_bytes: peak * MIB })]),
    baseline: measured(nights(5, { peak_bytes: 100 * MIB })),
    anchor: null,
    policy: DEFAULT_POLICY,
    baseRunsPossible,
  });

describe("the runs that a verdict lacks", () => {
  it("missingRuns counts the runs of the change and of the base that a breach still needs", () => {
    expect(missing(150)).toEqual({ kind: "candidate-runs", runs: 1, baseRuns: 1 });
    expect(missing(103)).toMatchObject({ kind: "candidate-runs", baseRuns: 3 });
  });

  it("missingRuns counts no run of a base that cannot run", () => {
    expect(missing(150, false)).toMatchObject({ kind: "candidate-runs", baseRuns: 0 });
  });

  it("missingRuns finds nothing missing after a pass", () => {
    expect(missing(100)).toEqual({ kind: "done" });
  });
});
