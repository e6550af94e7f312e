import { describe, expect, it } from "vitest";
import { MIB } from "../core/units.ts";
import { readCheck } from "../verdict/model/judgement-document.ts";
import { checkOf } from "../verdict/rules/check.ts";
import { leadingCheck, measuredSize } from "./scale-excess.ts";

describe("the estimated size", () => {
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
