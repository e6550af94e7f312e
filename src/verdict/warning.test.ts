import { describe, expect, it } from "vitest";
import { GIB, MIB } from "../core/units.ts";
import { judge } from "./judge.ts";
import { DEFAULT_POLICY, MAX_WARNING_RUNS, WARNING_ALPHA } from "./model/defaults.ts";
import type { JudgementDocument } from "./model/judgement.ts";
import { judgementDocument } from "./model/judgement-document.ts";
import { separationProbability } from "./rules/confirmation.ts";
import { measured, runOf } from "./testing/measurements.ts";

/** One run whose allocated memory never moves; reserved memory that does not gate, MiB. */
const run = (session: string, reserved: number) =>
  runOf(session, { peak_bytes: GIB }, [{ metric: "reserved", peak_bytes: reserved * MIB }]);

/** Ten accepted runs, each of a session of its own. */
const QUIET = Array.from({ length: 10 }, (_, night) => 1200 + 2 * (night % 3));

function ask(candidate: readonly number[], baseline = QUIET, here: readonly number[] = []): JudgementDocument {
  return judgementDocument(
    judge({
      candidate: measured(candidate.map((reserved) => run("pr", reserved))),
      baseline: measured([
        ...baseline.map((reserved, night) => run(`night-${night}`, reserved)),
        ...here.map((reserved) => run("pr", reserved)),
      ]),
      anchor: null,
      policy: DEFAULT_POLICY,
      baseRunsPossible: true,
    }),
  );
}

describe("a warning of a metric that does not gate", () => {
  it("takes runs that all breach and an exact rank test, and asks for no run of the base commit", () => {
    for (let runs = 1; runs < 3; runs += 1) {
      const open = ask(Array<number>(runs).fill(1250));
      expect(open).toMatchObject({ verdict: "pass", final: false, needs_more_runs: 1, needs_base_runs: 0 });
    }
    expect(ask([1250, 1250, 1250])).toMatchObject({ verdict: "warn", final: true });
  });

  it("a metric that does not gate causes no warning when one run is within the limit", () => {
    expect(ask([1250, 1200])).toMatchObject({ verdict: "pass", final: true });
    expect(ask([1250, 1250, 1250, 1200])).toMatchObject({ verdict: "pass", final: true });
  });

  it("asks for nothing at a level that the baseline often reaches", () => {
    const modes = [1200, 1200, 1200, 1200, 1200, 1200, 1200, 1250, 1250, 1250];
    expect(ask([1250], modes)).toMatchObject({ verdict: "pass", final: true });
  });

  it("a metric that does not gate causes a warning after one run far above everything known", () => {
    expect(ask([1600])).toMatchObject({ verdict: "warn", final: true });
  });

  it("a warning is dismissed when the base commit is as high in this session", () => {
    expect(ask([1250, 1250, 1250], QUIET, [1250, 1250, 1250])).toMatchObject({ verdict: "pass", final: true });
  });

  it("shares its alpha with the other checks that do not gate", () => {
    const ranks = (session: string, worst: number) => ({
      session,
      commit: null,
      series: Array.from({ length: 8 }, (_, rank) => ({
        rank,
        device: `cuda:${rank}`,
        metric: "reserved" as const,
        peak_bytes: (rank === 5 ? worst : 1200) * MIB,
      })),
    });
    const baseline = measured(QUIET.map((_, night) => ranks(`night-${night}`, 1200)));
    const policy = { ...DEFAULT_POLICY, gatingMetrics: ["allocated" as const] };
    const judgedAfter = (runs: number) =>
      judgementDocument(
        judge({
          candidate: measured(Array.from({ length: runs }, () => ranks("pr", 1300))),
          baseline,
          anchor: null,
          policy,
          baseRunsPossible: true,
        }),
      );
    expect(judgedAfter(3)).toMatchObject({ verdict: "unjudged", needs_more_runs: 1 });
    expect(judgedAfter(4).checks.find(({ rank }) => rank === 5)?.verdict).toBe("warn");
  });
});

describe("the exact rank test", () => {
  it("separationProbability is the share of equally likely orders", () => {
    // 3 runs above 10 others: one of C(13, 3) = 286 orders; with one of the ten as high, 4 of them.
    expect(separationProbability(0, 10, 3)).toBeCloseTo(1 / 286, 12);
    expect(separationProbability(1, 10, 3)).toBeCloseTo(4 / 286, 12);
    expect(separationProbability(10, 10, 3)).toBe(1);
  });

  it("the exact rank test can become significant for one check from the smallest baseline on", () => {
    expect(separationProbability(0, DEFAULT_POLICY.minBaselineRuns, MAX_WARNING_RUNS)).toBeLessThan(WARNING_ALPHA);
  });
});

describe("the warning of a class", () => {
  const leaking = (session: string, growth: number, drift: "leak" | "rising") =>
    runOf(session, { peak_bytes: GIB, growth_bytes: growth * MIB, class: drift });
  const judged = (growth: number, leaks: number) =>
    judgementDocument(
      judge({
        candidate: measured([leaking("pr", growth, "leak")]),
        baseline: measured(
          Array.from({ length: 10 }, (_, night) => leaking(`night-${night}`, 20, night < leaks ? "leak" : "rising")),
        ),
        anchor: null,
        policy: DEFAULT_POLICY,
        baseRunsPossible: true,
      }),
    ).verdict;

  it("takes a leak that the baseline's runs neither show nor outgrow", () => {
    expect(judged(24, 0)).toBe("warn");
    expect(judged(24, 3)).toBe("pass");
    expect(judged(20, 0)).toBe("pass");
  });
});
