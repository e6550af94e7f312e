import { describe, expect, it } from "vitest";
import { type Check, type CheckDocument, DONE, type Judgement } from "../verdict/model/judgement.ts";
import { checkOf } from "../verdict/rules/check.ts";
import { decide, leadingCheck, leadingGrowth } from "./decision.ts";

const KEY = { rank: 0, device: "cuda:0", metric: "allocated" } as const;
const check = (over: Partial<CheckDocument>): Check =>
  checkOf(KEY, {
    aspect: "peak",
    limit: "baseline",
    gating: true,
    verdict: "pass",
    reason: "",
    candidate_bytes: 100,
    ...over,
  });

const judgement = (...checks: readonly Check[]): Judgement => ({
  verdict: "pass",
  next: DONE,
  confirmed: false,
  checks,
  fingerprint: [],
  reason: "",
});

describe("the decision on a session", () => {
  it.each<[string, readonly Check[], number, string]>([
    ["joins when it is within the baseline", [check({})], 10, "accept"],
    ["joins with a warning", [check({ verdict: "warn" })], 10, "accept"],
    ["begins a baseline that has nothing to compare with", [check({ verdict: "unjudged" })], 0, "accept"],
    ["is held when it exceeds the baseline", [check({ verdict: "fail" })], 10, "hold-breach"],
    [
      "is held when it grows as the baseline does not",
      [check({}), check({ aspect: "growth", verdict: "fail" })],
      10,
      "hold-breach",
    ],
    [
      "is held when it leaks, though nothing was there before",
      [check({ aspect: "class", verdict: "fail" })],
      0,
      "hold-breach",
    ],
    [
      "is held when it ran out of memory",
      [check({ aspect: "oom", limit: "budget", verdict: "fail" })],
      10,
      "hold-breach",
    ],
    ["joins although a budget is exceeded", [check({}), check({ limit: "budget", verdict: "fail" })], 10, "accept"],
    [
      "joins though the release anchor is exceeded",
      [check({}), check({ limit: "anchor", verdict: "fail" })],
      10,
      "accept",
    ],
    [
      "joins when a metric that does not gate is higher",
      [check({}), check({ gating: false, verdict: "fail" })],
      10,
      "accept",
    ],
    [
      "teaches the baseline a new series",
      [check({}), check({ verdict: "unjudged", candidate_bytes: 5 })],
      10,
      "accept",
    ],
    [
      "does not make the baseline forget one",
      [check({}), check({ verdict: "unjudged", candidate_bytes: null })],
      10,
      "hold-unjudged",
    ],
  ])("a session %s", (_what, checks, older, expected) => {
    expect(decide(judgement(...checks), older, 5)).toBe(expected);
  });
});

describe("the check that represents a night", () => {
  it("the leading check is the largest gating peak against the baseline, with the growth of the same series", () => {
    const largest = check({ candidate_bytes: 300 });
    const all = judgement(
      check({ candidate_bytes: 200 }),
      check({ candidate_bytes: 900, gating: false }),
      check({ candidate_bytes: 950, limit: "anchor" }),
      largest,
      check({ aspect: "growth", candidate_bytes: 7 }),
    );
    expect(leadingCheck(all)).toEqual(largest);
    expect(leadingGrowth(all, largest)).toBe(7);
  });

  it("the leading check is null when nothing was measured", () => {
    expect(leadingCheck(judgement(check({ candidate_bytes: null })))).toBeNull();
  });
});
