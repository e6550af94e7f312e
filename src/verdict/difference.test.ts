import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GIB, MIB } from "../core/units.ts";
import { covers, differenceOf, isDifference, matchAcceptance, policyDifference } from "./difference.ts";
import type { Acceptance } from "./model/acceptance.ts";
import { type Aspect, type Check, DONE, type Judgement, type Limit } from "./model/judgement.ts";
import { checkOf } from "./rules/check.ts";

const HEAD = "a".repeat(40);
const ENVIRONMENT = { backend: "cuda", device_model: "H200" };

interface CheckParts {
  readonly rank?: number;
  readonly device?: string;
  readonly aspect?: Aspect;
  readonly limit?: Limit;
  readonly threshold?: number | null;
  readonly over?: number | null;
  readonly verdict?: Check["verdict"];
  readonly metric?: Check["metric"];
}

function check(parts: CheckParts = {}): Check {
  const { rank = 0, device = `cuda:${rank}`, metric = "allocated", threshold = GIB, over = 64 * MIB } = parts;
  return checkOf(
    { rank, device, metric },
    {
      aspect: parts.aspect ?? "peak",
      limit: parts.limit ?? "baseline",
      gating: true,
      verdict: parts.verdict ?? "fail",
      threshold_bytes: threshold,
      candidate_bytes: over === null ? null : (threshold ?? 0) + over,
      reason: "",
    },
  );
}

function judgement(checks: readonly Check[], verdict: Judgement["verdict"] = "fail"): Judgement {
  return {
    verdict,
    next: DONE,
    confirmed: true,
    checks,
    fingerprint: [],
    reason: "",
  };
}

function tokenOf(checks: readonly Check[], scenario = "train", environment: Record<string, string> = ENVIRONMENT) {
  const found = differenceOf(scenario, environment, judgement(checks));
  if (found === null) throw new Error("the checks have no difference");
  return found;
}

function accept(difference: string, via: Acceptance["via"] = "comment", head: string | null = null) {
  return { difference, head_sha: head, via };
}

describe("the token of a difference", () => {
  it("the token of a difference is short, can be copied, and names the failed checks", () => {
    const { token } = tokenOf([check(), check({ aspect: "growth", over: GIB })]);
    expect(token).toMatch(/^[0-9a-f]{12}-dagb\d+-dapb\d+$/);
    expect(isDifference(token)).toBe(true);
  });

  it("differs between scenarios and between environments", () => {
    const tokens = [
      tokenOf([check()]),
      tokenOf([check()], "eval"),
      tokenOf([check()], "train", { ...ENVIRONMENT, device_model: "A100" }),
    ];
    expect(new Set(tokens.map(({ token }) => token)).size).toBe(3);
  });

  it("the token of a difference does not depend on context fields of the fingerprint", () => {
    expect(tokenOf([check()], "train", { ...ENVIRONMENT, driver: "580.1" })).toEqual(tokenOf([check()]));
  });

  it("the token of a difference does not depend on the order of the checks", () => {
    const checks = [check(), check({ rank: 1 }), check({ aspect: "growth" }), check({ limit: "budget" })];
    fc.assert(
      fc.property(fc.shuffledSubarray(checks, { minLength: 4 }), (shuffled) => {
        expect(tokenOf(shuffled)).toEqual(tokenOf(checks));
      }),
    );
  });

  it("a pass, an unjudged scenario, out of memory and an unknown size have no difference", () => {
    expect(differenceOf("train", {}, judgement([check({ verdict: "pass" })], "pass"))).toBeNull();
    expect(differenceOf("train", {}, judgement([check()], "unjudged"))).toBeNull();
    expect(differenceOf("train", {}, judgement([check(), check({ aspect: "oom", limit: "budget" })]))).toBeNull();
    expect(differenceOf("train", {}, judgement([check({ over: null })]))).toBeNull();
  });

  it("leaves out a class that fails together with its growth", () => {
    const growth = check({ aspect: "growth" });
    expect(tokenOf([growth, check({ aspect: "class", threshold: null })])).toEqual(tokenOf([growth]));
    expect(tokenOf([check({ aspect: "class", threshold: null })]).token).toMatch(/-dacb\d+$/);
  });

  it("the token of changed settings names exactly these changes, in any order", () => {
    const a = { path: "policy.unjudged", base: "fail", head: "pass" };
    const b = { path: "scenarios.train.budget.host", base: "1GiB", head: null };
    expect(policyDifference([a, b])).toEqual(policyDifference([b, a]));
    expect(policyDifference([a]).token).not.toBe(policyDifference([a, b]).token);
    expect(policyDifference([a]).token).toMatch(/^[0-9a-f]{32}-policy$/);
    expect(isDifference(policyDifference([a]).token)).toBe(true);
    // Of an older release: recognised as a difference, and of nothing that this one reports.
    const short = policyDifference([a]).token.slice(0, 12);
    expect(isDifference(`${short}-policy`)).toBe(true);
    expect(covers(accept(`${short}-policy`), policyDifference([a]))).toBe(false);
    expect(covers(accept(policyDifference([a, b]).token), policyDifference([a]))).toBe(false);
    expect(covers(accept(policyDifference([a]).token), policyDifference([a]))).toBe(true);
  });

  it("the token of a difference is distinguished from any other text", () => {
    for (const text of [
      "",
      "all",
      "3f9a2c1d-183",
      "3f9a2c1d04be-",
      "3f9a2c1d04be-dapb18-",
      "3F9A2C1D04BE-dapb18",
      "x".repeat(9999),
    ]) {
      expect(isDifference(text)).toBe(false);
      expect(covers(accept(text), tokenOf([check()]))).toBe(false);
    }
  });
});

const size = fc.integer({ min: 0, max: 64 * GIB });

describe("an acceptance", () => {
  it("covers the accepted difference, the same with 5 % of noise, and anything smaller", () => {
    fc.assert(
      fc.property(
        size,
        fc.integer({ min: MIB, max: 64 * GIB }),
        fc.double({ min: 0, max: 1.05, noNaN: true }),
        (over, threshold, factor) => {
          const accepted = tokenOf([check({ over, threshold })]);
          const again = tokenOf([check({ over: Math.floor(over * factor), threshold })]);
          expect(covers(accept(accepted.token), again)).toBe(true);
        },
      ),
    );
  });

  it("covers a breach barely above its limit, with noise of 0.1 % of the limit", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 64 * MIB, max: 64 * GIB }),
        fc.double({ min: -1, max: 1, noNaN: true }),
        (threshold, noise) => {
          const over = threshold / 500;
          const accepted = tokenOf([check({ over, threshold })]);
          const again = tokenOf([check({ over: over + (noise * threshold) / 1000, threshold })]);
          expect(covers(accept(accepted.token), again)).toBe(true);
        },
      ),
    );
  });

  it("an acceptance does not cover a regression a third larger, whatever commit it names", () => {
    fc.assert(
      fc.property(size, fc.integer({ min: MIB, max: 64 * GIB }), (over, threshold) => {
        const steady = Math.max(MIB, threshold / 64);
        const accepted = tokenOf([check({ over, threshold })]);
        const larger = tokenOf([check({ over: Math.ceil((over + steady) * 1.31 - steady), threshold })]);
        expect(matchAcceptance(accept(accepted.token, "trailer", HEAD), larger, HEAD)).toEqual({ kind: "larger" });
      }),
    );
  });

  it("an acceptance for the measured commit tolerates one bucket more of noise", () => {
    const accepted = tokenOf([check({ over: GIB })]);
    const found = tokenOf([check({ over: GIB * 1.2 })]);
    const kind = (head: string | null) => matchAcceptance(accept(accepted.token, "trailer", head), found, HEAD).kind;
    expect([kind(HEAD), kind(null), kind("b".repeat(40))]).toEqual(["covered", "larger", "larger"]);
  });

  it("covers one commit when a comment names it, and later commits when it is a trailer", () => {
    const found = tokenOf([check()]);
    expect(matchAcceptance(accept(found.token, "comment", "a".repeat(7)), found, HEAD).kind).toBe("covered");
    expect(matchAcceptance(accept(found.token, "comment", "b".repeat(7)), found, HEAD).kind).toBe("other-commit");
    expect(matchAcceptance(accept(found.token, "trailer", "b".repeat(40)), found, HEAD).kind).toBe("covered");
  });

  it("covers fewer failed checks, but not one more", () => {
    const both = tokenOf([check(), check({ aspect: "growth" })]);
    const one = tokenOf([check()]);
    expect(covers(accept(both.token), one)).toBe(true);
    expect(matchAcceptance(accept(one.token), both, null)).toEqual({ kind: "more" });
  });

  it("compares the size of every check", () => {
    const accepted = tokenOf([check({ over: 64 * MIB }), check({ aspect: "growth", over: 64 * GIB })]);
    const found = tokenOf([check({ over: 32 * GIB }), check({ aspect: "growth", over: 64 * GIB })]);
    expect(matchAcceptance(accept(accepted.token), found, null)).toEqual({ kind: "larger" });
  });

  it("never covers another scenario, environment, metric, aspect, limit or kind of device", () => {
    const found = tokenOf([check()]);
    const others = [
      tokenOf([check({ over: 64 * GIB })], "eval"),
      tokenOf([check({ over: 64 * GIB })], "train", {}),
      ...[
        { metric: "host" as const },
        { aspect: "growth" as const },
        { limit: "anchor" as const },
        { limit: "budget" as const },
        { device: "host" },
      ].map((parts) => tokenOf([check({ over: 64 * GIB, ...parts })])),
    ];
    for (const { token } of others) expect(covers(accept(token), found, HEAD)).toBe(false);
  });
});

describe("more failed checks than fit on a line", () => {
  const places = ["cuda:0", "host"];
  const metrics = ["allocated", "reserved", "used", "host"] as const;
  const many = (over: number, left = 0): readonly Check[] =>
    places
      .flatMap((device) =>
        metrics.flatMap((metric) =>
          (["baseline", "budget"] as const).map((limit) => check({ device, metric, limit, over })),
        ),
      )
      .slice(left);

  it("more failed checks than fit on a line have one token that can be copied, up to the accepted size", () => {
    const accepted = tokenOf(many(64 * MIB));
    expect(accepted.token).toMatch(/^[0-9a-f]{12}-many\d+x[0-9a-f]{12}$/);
    expect(isDifference(accepted.token)).toBe(true);
    expect(covers(accept(accepted.token), tokenOf(many(32 * MIB)))).toBe(true);
    expect(matchAcceptance(accept(accepted.token), tokenOf(many(GIB)), null)).toEqual({ kind: "larger" });
    expect(matchAcceptance(accept(accepted.token), tokenOf(many(64 * MIB, 1)), null)).toEqual({ kind: "more" });
    expect(matchAcceptance(accept(accepted.token), tokenOf([check()]), null)).toEqual({ kind: "more" });
  });

  it("never have a token longer than a line", () => {
    const world = Array.from({ length: 512 }, (_, rank) => check({ rank, verdict: rank % 7 === 0 ? "fail" : "pass" }));
    for (const checks of [many(GIB), world]) expect(tokenOf(checks).token.length).toBeLessThanOrEqual(80);
    expect(isDifference(tokenOf(world).token)).toBe(true);
  });
});

describe("the difference of ranks", () => {
  const world = (failing: readonly number[], over = 64 * MIB): readonly Check[] =>
    Array.from({ length: 8 }, (_, rank) => check({ rank, over, verdict: failing.includes(rank) ? "fail" : "pass" }));

  it("the difference of ranks is the same when a few of them stay just below the limit", () => {
    expect(tokenOf(world([0, 1, 2, 3, 4, 5, 6, 7]))).toEqual(tokenOf(world([1, 2, 3, 4, 5, 7])));
  });

  it("names single ranks that fail", () => {
    const first = tokenOf(world([0]));
    expect(covers(accept(first.token), tokenOf(world([3])))).toBe(false);
    expect(matchAcceptance(accept(first.token), tokenOf(world([0, 3])), null)).toEqual({ kind: "more" });
    expect(matchAcceptance(accept(first.token), tokenOf(world([0, 1, 2, 3, 4, 5, 6, 7])), null)).toEqual({
      kind: "more",
    });
    expect(covers(accept(tokenOf(world([0, 3])).token), first)).toBe(true);
    expect(covers(accept(tokenOf(world([0, 1, 2, 3, 4])).token), first)).toBe(true);
  });

  it("the difference of ranks has the size of the worst rank", () => {
    const checks = [check({ rank: 0, over: 10 * MIB }), check({ rank: 1, over: GIB })];
    expect(
      covers(
        accept(tokenOf([check({ rank: 0, over: 10 * MIB }), check({ rank: 1, over: 10 * MIB })]).token),
        tokenOf(checks),
      ),
    ).toBe(false);
  });
});
