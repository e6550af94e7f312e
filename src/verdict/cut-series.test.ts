import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GIB, MIB } from "../core/units.ts";
import { type JudgeInput, judge } from "./judge.ts";
import { DEFAULT_POLICY } from "./model/defaults.ts";
import type { Check } from "./model/judgement.ts";
import { measured, nights, runOf } from "./testing/measurements.ts";

const BASE = measured(nights(10, { peak_bytes: GIB, growth_bytes: 0, class: "flat" }));
const POLICY = { ...DEFAULT_POLICY, budgets: [{ metric: "allocated" as const, bytes: GIB + 100 * MIB }] };

interface Run {
  readonly peak: number;
  readonly growth: number;
  readonly cut: boolean;
}

function ask(runs: readonly Run[], more: Partial<JudgeInput> = {}) {
  const candidate = measured(
    runs.map(({ peak, growth, cut }) =>
      runOf("pr", {
        peak_bytes: peak,
        growth_bytes: growth,
        class: growth > 0 ? "leak" : "flat",
        ...(cut ? { cut } : {}),
      }),
    ),
  );
  return judge({ candidate, baseline: BASE, anchor: BASE, policy: POLICY, baseRunsPossible: true, ...more });
}

const whole = (peak: number, growth = 0): Run => ({ peak, growth, cut: false });
const cut = (peak: number, growth = 0): Run => ({ peak, growth, cut: true });
const HIGH = GIB + 200 * MIB;
const verdicts = (checks: readonly Check[]) => checks.map(({ kind, limit, verdict }) => `${kind} ${limit} ${verdict}`);

describe("a candidate whose samples end early", () => {
  it("a run whose samples end early is unjudged where it stays within its limits, and asks for another run", () => {
    const judgement = ask([cut(GIB)]);
    expect(verdicts(judgement.checks)).toEqual([
      "budget budget unjudged",
      "peak baseline unjudged",
      "growth baseline unjudged",
      "class baseline unjudged",
      "peak anchor unjudged",
    ]);
    expect(judgement).toMatchObject({ verdict: "unjudged", next: { kind: "candidate-runs", runs: 1 } });
    expect(judgement.reason).toContain("end early");
    expect(ask([cut(GIB)], { moreRunsPossible: false }).next).toEqual({ kind: "done" });
  });

  it("passes by a further run that is whole, and by that run alone", () => {
    expect(ask([cut(GIB), whole(GIB + MIB)])).toMatchObject({ verdict: "pass", next: { kind: "done" } });
    const high = whole(GIB + 60 * MIB);
    expect(verdicts(ask([cut(GIB), high, high, high]).checks)).toContain("peak baseline fail");
  });

  it("fails by a level that the part which was measured exceeds", () => {
    const { checks, verdict } = ask([cut(HIGH)]);
    expect(verdict).toBe("fail");
    expect(verdicts(checks)).toEqual(
      expect.arrayContaining([
        "budget budget fail",
        "peak baseline fail",
        "peak anchor fail",
        "growth baseline unjudged",
      ]),
    );
    expect(verdicts(ask([cut(GIB, 300 * MIB), cut(GIB, 300 * MIB)]).checks)).toContain("growth baseline fail");
  });

  it("never passes where no run is whole, is judged like its whole runs where one is, and hides no breach", () => {
    const level = fc.constantFrom(GIB - 50 * MIB, GIB, GIB + MIB, GIB + 30 * MIB, HIGH, 2 * GIB);
    const run = fc.record({ peak: level, growth: fc.constantFrom(0, MIB, 300 * MIB), cut: fc.boolean() });
    fc.assert(
      fc.property(fc.array(run, { minLength: 1, maxLength: 6 }), (runs) => {
        const { checks } = ask(runs);
        const rest = runs.filter((one) => !one.cut);
        const without = rest.length === 0 ? [] : ask(rest).checks;
        const plain = ask(runs.map((one) => ({ ...one, cut: false }))).checks;
        for (const check of checks) {
          const same = (one: Check) => one.kind === check.kind && one.limit === check.limit;
          if (check.verdict === "pass") expect(without.find(same)?.verdict).toBe("pass");
          if (plain.find(same)?.verdict === "fail" || without.find(same)?.verdict === "fail")
            expect(check.verdict).toBe("fail");
        }
      }),
    );
  });
});

describe("a baseline whose samples end early", () => {
  it("lowers no level: its other runs are compared with", () => {
    const low = nights(10, { peak_bytes: GIB / 2, growth_bytes: 0, class: "flat", cut: true });
    const baseline = measured([...low, ...BASE.runs]);
    expect(ask([whole(GIB)], { baseline, anchor: null }).verdict).toBe("pass");
    expect(ask([whole(GIB)], { baseline: measured(low), anchor: null }).verdict).toBe("unjudged");
  });
});
