import { describe, expect, it } from "vitest";
import type { MeasuredRun } from "../analysis/measurements.ts";
import { GIB, MIB } from "../core/units.ts";
import { type JudgeInput, judge } from "./judge.ts";
import { DEFAULT_POLICY } from "./model/defaults.ts";
import type { Aspect, JudgementDocument, Limit } from "./model/judgement.ts";
import { judgementDocument } from "./model/judgement-document.ts";
import { measured, nights, runOf } from "./testing/measurements.ts";

const BASE = measured(nights(10, { peak_bytes: GIB }));

function ask(candidate: readonly MeasuredRun[], more: Partial<JudgeInput> = {}): JudgementDocument {
  const input = { candidate: measured(candidate), baseline: BASE, anchor: null, policy: DEFAULT_POLICY };
  return judgementDocument(judge({ ...input, baseRunsPossible: true, ...more }));
}

const check = (judgement: JudgementDocument, aspect: Aspect, limit: Limit = "baseline") =>
  judgement.checks.find((one) => one.aspect === aspect && one.limit === limit);

describe("budgets and anchors", () => {
  const budget = (bytes: number) => ({ ...DEFAULT_POLICY, budgets: [{ metric: "allocated" as const, bytes }] });

  it("fails a breached budget with or without a baseline, without more runs", () => {
    for (const baseline of [BASE, null]) {
      const judgement = ask([runOf("pr", { peak_bytes: 2 * GIB })], { baseline, policy: budget(GIB) });
      expect(judgement).toMatchObject({ verdict: "fail", final: true, confirmed: true, needs_more_runs: 0 });
    }
  });

  it("mentions a budget inside the baseline's noise", () => {
    const judgement = ask([runOf("pr", { peak_bytes: GIB })], { policy: budget(GIB + MIB) });
    expect(judgement.verdict).toBe("pass");
    expect(check(judgement, "peak", "budget")?.reason).toContain("inside the noise");
  });

  it("a budget is unjudged when its metric was not measured", () => {
    const policy = { ...DEFAULT_POLICY, budgets: [{ metric: "used" as const, bytes: GIB }] };
    expect(ask([runOf("pr", { peak_bytes: GIB })], { policy }).verdict).toBe("unjudged");
  });

  it("fails slow creep against the anchor although the baseline moved with it", () => {
    const anchor = measured(nights(5, { peak_bytes: 0.9 * GIB }));
    const run = runOf("pr", { peak_bytes: GIB });
    expect(ask([run], { anchor })).toMatchObject({ verdict: "fail", final: false, needs_more_runs: 1 });
    const judgement = ask([run, run], { anchor });
    expect(judgement).toMatchObject({ verdict: "fail", final: true, confirmed: true });
    expect(check(judgement, "peak", "baseline")?.verdict).toBe("pass");
    expect(check(judgement, "peak", "anchor")?.verdict).toBe("fail");
  });
});

describe("which metrics gate", () => {
  const all = (session: string, used: number, host: number) =>
    runOf(session, { peak_bytes: GIB }, [
      { metric: "used", peak_bytes: used },
      { metric: "host", device: "host", peak_bytes: host },
    ]);
  const baseline = measured(Array.from({ length: 6 }, (_, i) => all(`night-${i}`, 2 * GIB, GIB)));

  it("warns of device-used and host memory where an allocator counter exists", () => {
    expect(ask([all("pr", 3 * GIB, GIB)], { baseline })).toMatchObject({ verdict: "warn", final: true });
    expect(ask([all("pr", 2 * GIB, 2 * GIB)], { baseline }).verdict).toBe("warn");
  });

  it("gates on host memory where no allocator counter exists", () => {
    const host = (session: string, peak_bytes: number) =>
      runOf(session, { metric: "host", device: "host", peak_bytes });
    const hosts = measured(Array.from({ length: 6 }, (_, i) => host(`night-${i}`, GIB)));
    expect(ask([host("pr", 2 * GIB)], { baseline: hosts }).verdict).toBe("fail");
    expect(ask([host("pr", GIB)], { baseline: hosts }).verdict).toBe("pass");
  });

  it("fails one bad rank of eight", () => {
    const ranks = (session: string, worst: number): MeasuredRun => ({
      session,
      commit: null,
      series: Array.from({ length: 8 }, (_, rank) => ({
        rank,
        device: `cuda:${rank}`,
        metric: "allocated" as const,
        peak_bytes: rank === 5 ? worst : GIB,
      })),
    });
    const eight = measured(Array.from({ length: 10 }, (_, i) => ranks(`night-${i}`, GIB)));
    const judgement = ask([ranks("pr", 1.2 * GIB)], { baseline: eight });
    expect(judgement.verdict).toBe("fail");
    expect(judgement.reason).toContain("rank 5");
  });
});
