import { describe, expect, it } from "vitest";
import { MIB } from "../core/units.ts";
import { judge } from "../verdict/judge.ts";
import { DEFAULT_POLICY } from "../verdict/model/defaults.ts";
import { readCheck } from "../verdict/model/judgement-document.ts";
import { checkOf } from "../verdict/rules/check.ts";
import { detectable, guessedSize, leadingCheck, measuredSize } from "./scale-guess.ts";

describe("the smallest detectable leak", () => {
  it("the smallest detectable leak is the floor of the peak rule without runs", () => {
    const found = detectable({ metric: "allocated", peaks: [], growths: [], headroom: 0 });
    expect(found.aspect).toBe("peak");
    expect(found.bytes).toBeGreaterThan(2 * MIB);
    expect(found.bytes).toBeLessThan(2.001 * MIB);
  });

  it("the smallest detectable leak is the growth rule's where peaks vary more than growths", () => {
    const peaks = [100, 130, 160, 190, 220].map((size) => size * MIB);
    const growths = [0, 0, 0, 0, 0];
    expect(detectable({ metric: "allocated", peaks, growths, headroom: 0 })).toMatchObject({ aspect: "growth" });
  });

  it("the smallest detectable leak is the growth rule's where an early peak hides the growth", () => {
    const peaks = [100, 100, 100, 100, 100].map((size) => size * MIB);
    const series = { metric: "allocated", peaks, growths: peaks.map(() => 0) } as const;
    const near = detectable({ ...series, headroom: 3 * MIB });
    expect(near.aspect).toBe("peak");
    expect(near.bytes).toBe(3 * MIB + detectable({ ...series, headroom: 0 }).bytes);
    expect(detectable({ ...series, headroom: 20 * MIB }).aspect).toBe("growth");
  });

  it("the smallest detectable leak equals the detectable change in the judgement of the same runs", () => {
    const peaks = [100, 101, 100.5, 102, 101.5].map((size) => size * MIB);
    const series = (peak: number) => [
      { rank: 0, device: "host", metric: "allocated" as const, peak_bytes: peak, growth_bytes: 0 },
    ];
    const runs = peaks.map((peak) => ({ session: "s", commit: null, series: series(peak) }));
    const scenario = { scenario: "a", fingerprint: null };
    const { checks } = judge({
      baseline: { ...scenario, runs },
      candidate: { ...scenario, runs: [{ session: "s", commit: null, series: series(101 * MIB) }] },
      anchor: null,
      policy: DEFAULT_POLICY,
      baseRunsPossible: false,
    });
    const peak = checks.find(({ aspect }) => aspect === "peak");
    expect(detectable({ metric: "allocated", peaks, growths: peaks.map(() => 0), headroom: 0 })).toEqual({
      aspect: "peak",
      bytes: peak?.mde_bytes,
    });
  });
});

describe("the estimated size", () => {
  it("the estimated size is where the leak reaches the needed bytes", () => {
    expect(guessedSize({ constant: 0, perUnit: 1024 }, 2 * MIB)).toBe(2048);
    expect(guessedSize({ constant: MIB, perUnit: 1024 }, 2 * MIB)).toBe(1024);
  });

  it("the estimated size is zero when every size leaks enough, and null when none does", () => {
    expect(guessedSize({ constant: 3 * MIB, perUnit: 1024 }, 2 * MIB)).toBe(0);
    expect(guessedSize({ constant: MIB, perUnit: 0 }, 2 * MIB)).toBeNull();
    expect(guessedSize({ constant: MIB, perUnit: -1 }, 2 * MIB)).toBeNull();
  });

  it("the estimated size is proportional to one measured size, and on the line through two", () => {
    const one = { value: 100, excess: MIB, needed: 2 * MIB };
    expect(measuredSize([one])).toBe(200);
    // A program whose fixed state keeps a little, too: nothing shows before 60.
    expect(measuredSize([one, { value: 180, excess: 3 * MIB, needed: 2 * MIB }])).toBeCloseTo(140);
  });

  it("the estimated size is null where nothing grows", () => {
    expect(measuredSize([])).toBeNull();
    expect(measuredSize([{ value: 100, excess: -5, needed: MIB }])).toBeNull();
  });

  it("the estimated size is proportional where a larger size leaked less", () => {
    const seen = [
      { value: 100, excess: MIB, needed: 2 * MIB },
      { value: 200, excess: MIB / 2, needed: 2 * MIB },
    ];
    expect(measuredSize(seen)).toBe(200);
  });
});

describe("the leading check", () => {
  const key = { rank: 0, device: "host", metric: "allocated" } as const;
  const base = { limit: "baseline", gating: true, verdict: "pass", reason: "" } as const;
  const peak = checkOf(key, { ...base, aspect: "peak", candidate_bytes: 3, baseline_bytes: 2, mde_bytes: 2 });
  const growth = checkOf(key, { ...base, aspect: "growth", candidate_bytes: 4, baseline_bytes: 0, mde_bytes: 5 });

  it("the leading check is the one nearest to its limit", () => {
    expect(leadingCheck([peak, growth])).toMatchObject({ aspect: "growth", excess_bytes: 4, mde_bytes: 5 });
  });

  it("the leading check is of the allocator rather than of pages, unless the check of pages failed", () => {
    const pages = { ...growth, metric: "host" as const, candidate_bytes: 400 };
    expect(leadingCheck([pages, peak])).toMatchObject({ metric: "allocated", aspect: "peak" });
    expect(leadingCheck([{ ...pages, verdict: "fail" as const }, peak])).toMatchObject({ metric: "host" });
  });

  it("the leading check is null for checks without gating, of budgets, or of unknown size", () => {
    const silent = [
      { ...growth, gating: false },
      readCheck({ ...peak, limit: "budget" }),
      { ...growth, candidate_bytes: null },
      { ...growth, mde_bytes: null },
      readCheck({ ...growth, aspect: "class" }),
    ];
    expect(leadingCheck(silent)).toBeNull();
    expect(leadingCheck([...silent, peak])).toMatchObject({ aspect: "peak" });
  });
});
