import { describe, expect, it } from "vitest";
import { readCheck } from "../verdict/model/judgement-document.ts";
import { checkOf } from "../verdict/rules/check.ts";
import { leadingCheck } from "./scale-excess.ts";

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
