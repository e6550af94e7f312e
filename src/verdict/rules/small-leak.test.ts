import { describe, expect, it } from "vitest";
import { MIB } from "../../core/units.ts";
import { judge } from "../judge.ts";
import { DEFAULT_POLICY } from "../model/defaults.ts";
import { measured, runOf } from "../testing/measurements.ts";
import { withLostMemory } from "./small-leak.ts";

type Parts = Parameters<typeof runOf>[1];

/** Runs of a program whose live blocks grow like a leak, without a baseline. */
const judged = (growth: number, runs: number, more: Partial<Parts> = {}) =>
  judge({
    candidate: measured(
      Array.from({ length: runs }, () =>
        runOf("pr", {
          ...{ device: "host", metric: "python", class: "leak", slope_bytes_per_s: growth / 10 },
          ...{ peak_bytes: 40 * MIB, growth_bytes: growth, ...more },
        }),
      ),
    ),
    baseline: null,
    anchor: null,
    policy: DEFAULT_POLICY,
    baseRunsPossible: false,
    baselineWanted: false,
  });

describe("a leak of some MiB in a counter of live blocks", () => {
  it("asks for a second run, and warns with the length of a run that separates it from a cache", () => {
    expect(judged(4 * MIB, 1)).toMatchObject({ verdict: "warn", next: { kind: "candidate-runs", runs: 1 } });
    const twice = judged(4 * MIB, 2);
    expect(twice).toMatchObject({ verdict: "warn", next: { kind: "done" }, checks: [{ cache_unless: "38 s" }] });
    expect(twice.reason).toContain("a run of 38 s would decide");
    expect(judged(4 * MIB, 2, { slope_bytes_per_step: 1024 }).reason).toContain("a run of 15360 steps would decide");
  });

  it("fails where what grows is lost to the program, and only once two runs have shown it", () => {
    const lost = withLostMemory(judged(4 * MIB, 2));
    expect(lost).toMatchObject({ verdict: "fail", confirmed: true, next: { kind: "done" } });
    expect(lost.checks[0]).not.toHaveProperty("cache_unless");
    expect(lost.reason).toMatch(/ in 2 of 2 runs, and nothing that the program reaches grows$/);
    expect(withLostMemory(judged(4 * MIB, 1)).verdict).toBe("warn");
  });

  it("fails on its own where it is larger than a cache, and warns where its size is not material", () => {
    expect(judged(13 * MIB, 2)).toMatchObject({ verdict: "fail", confirmed: true });
    expect(judged(2 * MIB, 2)).toMatchObject({ verdict: "warn" });
    expect(withLostMemory(judged(2 * MIB, 2)).verdict).toBe("warn");
  });

  it("keeps its floor in counters that move by more than what is kept", () => {
    expect(judged(4 * MIB, 2, { metric: "host" })).toMatchObject({ verdict: "warn" });
    expect(withLostMemory(judged(4 * MIB, 2, { metric: "host" })).verdict).toBe("warn");
    expect(judged(17 * MIB, 2, { metric: "host" }).verdict).toBe("fail");
  });
});
