import { describe, expect, it } from "vitest";
import type { MeasuredSeries } from "../analysis/measurements.ts";
import { MIB } from "../core/units.ts";
import type { Metric } from "../telemetry/recording/metrics.ts";
import { judge } from "./judge.ts";
import { DEFAULT_POLICY } from "./model/defaults.ts";
import { measured, runOf } from "./testing/measurements.ts";

type Class = NonNullable<MeasuredSeries["class"]>;
interface Counted {
  readonly growth: number;
  readonly drift?: Class;
  readonly metric?: Metric;
}

const HOST = { device: "host", metric: "host", peak_bytes: 100 * MIB, growth_bytes: 0, class: "flat" } as const;

/** Runs of flat host memory, beside which something is counted; null = it is not. */
const runs = (session: string, count: number, counted: Counted | null) =>
  Array.from({ length: count }, (_, at) => {
    const { growth = 0, drift = "flat", metric = "descriptors" } = counted ?? {};
    const series = { device: "host", metric, peak_bytes: 20 + growth, growth_bytes: growth, class: drift } as const;
    return runOf(session === "" ? `night-${at}` : session, HOST, counted === null ? [] : [series]);
  });

const judged = (counted: Counted, count: number, baseline: Counted | "none" | null = "none") =>
  judge({
    candidate: measured(runs("pr", count, counted)),
    baseline: baseline === "none" ? null : measured(runs("", 5, baseline)),
    anchor: null,
    policy: DEFAULT_POLICY,
    baseRunsPossible: false,
    baselineWanted: baseline !== "none",
  });

const leak = (growth: number, metric?: Metric): Counted => ({
  growth,
  drift: "leak",
  ...(metric === undefined ? {} : { metric }),
});

describe("descriptors and threads", () => {
  it.each([
    ["descriptors", 64, 63],
    ["threads", 32, 31],
  ] as const)(
    "a leak of %s fails without a baseline from %i on, after two runs, and warns below",
    (metric, fails, warns) => {
      expect(judged(leak(fails, metric), 1)).toMatchObject({
        verdict: "fail",
        next: { kind: "candidate-runs", runs: 1 },
      });
      const twice = judged(leak(fails, metric), 2);
      expect(twice).toMatchObject({ verdict: "fail", confirmed: true, next: { kind: "done" } });
      expect(twice.reason).toContain(`leak of ${fails} ${metric} in 2 of 2 runs`);
      const small = judged(leak(warns, metric), 2);
      expect(small).toMatchObject({ verdict: "warn", next: { kind: "done" } });
      expect(small.reason).toContain(`the growth of ${warns} ${metric} is not material`);
    },
  );

  it("a leak fails against a baseline without one by its growth, and its limit is a number", () => {
    const { verdict, checks } = judged(leak(40), 6, { growth: 0 });
    const own = checks.filter(({ metric }) => metric === "descriptors");
    expect([verdict, ...own.map((check) => `${check.kind} ${check.verdict}`)]).toEqual([
      "fail",
      "growth fail",
      "class fail",
    ]);
    expect(own[0]).toMatchObject({ candidate_bytes: 40, threshold_bytes: 32, confirmed: false });
    expect(own[0]?.reason).toContain("growth 40 descriptors is 40 descriptors above the baseline's 0 descriptors");
    expect(own.map(({ reason }) => reason).join()).not.toMatch(/ B\b|iB\b/);
  });

  it("a leak within the limit warns, and one that the baseline has passes", () => {
    expect(judged(leak(30), 6, { growth: 0 }).verdict).toBe("warn");
    expect(judged(leak(300), 6, leak(300)).verdict).toBe("pass");
  });

  it("a larger pool that fills is not checked, with a baseline or without", () => {
    for (const drift of ["step", "plateau", "rising", "insufficient"] as const) {
      for (const baseline of ["none", { growth: 0 }] as const) {
        const { verdict, checks } = judged({ growth: 500, drift }, 2, baseline);
        expect([verdict, checks.filter(({ metric }) => metric === "descriptors")]).toEqual([
          baseline === "none" ? "unjudged" : "pass",
          [],
        ]);
      }
    }
  });

  it("a baseline from before they were counted changes no verdict, nor do runs in which they were not counted", () => {
    expect(judged(leak(500), 2, null).verdict).toBe("pass");
    const without = judge({
      candidate: measured(runs("pr", 2, null)),
      baseline: measured(runs("", 5, { growth: 0 })),
      anchor: null,
      policy: DEFAULT_POLICY,
      baseRunsPossible: false,
    });
    expect([without.verdict, without.checks.some(({ metric }) => metric === "descriptors")]).toEqual(["pass", false]);
  });

  it("the limits of memory do not widen because something is counted beside it", () => {
    const limit = (counted: Counted | null) =>
      judge({
        candidate: measured(runs("pr", 2, counted)),
        baseline: measured(runs("", 5, counted)),
        anchor: null,
        policy: DEFAULT_POLICY,
        baseRunsPossible: false,
      }).checks.filter(({ metric }) => metric === "host");
    expect(limit(leak(100))).toEqual(limit(null));
  });
});

describe("files in memory that outlive the command", () => {
  const left = (bytes: number) => {
    const series = { device: "host", metric: "left_behind", peak_bytes: bytes, growth_bytes: bytes } as const;
    return judge({
      candidate: measured(Array.from({ length: 2 }, () => runOf("pr", HOST, [{ ...series, class: "leak" }]))),
      baseline: null,
      anchor: null,
      policy: DEFAULT_POLICY,
      baseRunsPossible: false,
      baselineWanted: false,
    });
  };

  it("warn below 16 MiB, and fail from there on", () => {
    expect(left(15 * MIB)).toMatchObject({ verdict: "warn", next: { kind: "done" } });
    expect(left(16 * MIB)).toMatchObject({ verdict: "fail", confirmed: true });
  });
});
