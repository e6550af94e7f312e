import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { MeasuredRun } from "../analysis/measurements.ts";
import { ANALYSIS_VERSION, DRIFT_CLASSES, type DriftClass } from "../analysis/series/document.ts";
import { recordToMeasurements } from "../baseline/record.ts";
import { draws } from "../core/testing/draws.ts";
import { GIB, MIB } from "../core/units.ts";
import { judge } from "./judge.ts";
import { DEFAULT_POLICY } from "./model/defaults.ts";
import { measured, runOf } from "./testing/measurements.ts";

interface Growth {
  readonly growth: number;
  readonly drift: DriftClass;
}

/** A record of six runs as the releases before versions wrote it. */
function storedRecord(values: readonly Growth[]): object {
  const runs = values.map(({ growth, drift }, night) => ({
    session: `night-${night}`,
    commit: null,
    time: "2026-01-01T00:00:00Z",
    approved: true,
    steps: 200,
    values: [[GIB, growth, growth / 10, growth / 200, drift]],
  }));
  const epoch = { opened: "2026-01-01T00:00:00Z", reason: "refresh", series: [[0, "cuda:0", "allocated"]], runs };
  return { schema: "stormlog.baseline/1", scenario: "train", fingerprint: {}, epochs: [epoch], envelopes: [] };
}

const run = ({ growth, drift }: Growth, session = "pr", peak = GIB): MeasuredRun => ({
  ...runOf(session, { peak_bytes: peak, growth_bytes: growth, class: drift }),
  analysis_version: ANALYSIS_VERSION,
});

const FLAT: Growth = { growth: 0, drift: "flat" };
const LEAK: Growth = { growth: 300 * MIB, drift: "leak" };

interface Case {
  readonly stored: readonly Growth[];
  readonly candidate: readonly MeasuredRun[];
  readonly base?: readonly MeasuredRun[];
  /** Runs of this version, stored after the others. */
  readonly renewed?: readonly MeasuredRun[];
  readonly baseRunsPossible?: boolean;
}

function ask({ stored, candidate, base = [], renewed = [], baseRunsPossible = false }: Case) {
  const baseline = recordToMeasurements(storedRecord(stored), "record.json");
  return judge({
    candidate: measured(candidate),
    baseline: { ...baseline, fingerprint: null, runs: [...baseline.runs, ...renewed] },
    baseRuns: base,
    anchor: null,
    policy: DEFAULT_POLICY,
    baseRunsPossible,
  });
}

const six = (one: Growth): readonly Growth[] => Array.from({ length: 6 }, () => one);

describe("a baseline of another version of the analysis", () => {
  it("a baseline of another analysis version is compared by peaks alone, and the reason names the refresh", () => {
    for (const now of [FLAT, LEAK]) {
      const judgement = ask({ stored: six(FLAT), candidate: [run(now), run(now), run(now)] });
      expect(judgement).toMatchObject({ verdict: "unjudged", next: { kind: "done" } });
      expect(judgement.reason).toContain("`baseline refresh`");
      const verdicts = judgement.checks.map(({ kind, verdict }) => `${kind} ${verdict}`);
      expect(verdicts).toContain("peak pass");
      expect(verdicts).toContain("growth unjudged");
      expect(verdicts).not.toContain("class pass");
    }
    const high = [1, 2, 3].map(() => run(FLAT, "pr", 2 * GIB));
    expect(ask({ stored: six(FLAT), candidate: high }).verdict).toBe("fail");
  });

  it("a baseline that was measured when host memory was a sum is compared by the sum", () => {
    const shared = (host: number, sum: number): MeasuredRun => {
      const { series, ...rest } = run(FLAT, "pr", host);
      const [one] = series;
      if (one === undefined) throw new Error("a run has a series");
      const host_sum = { ...one, device: "host", metric: "host_sum" as const, peak_bytes: sum };
      return { ...rest, series: [{ ...one, device: "host", metric: "host" }, host_sum] };
    };
    const old = six(FLAT).map((one, night) => ({
      ...shared(GIB, GIB),
      session: `night-${night}`,
      analysis_version: 8,
      one,
    }));
    const baseline = measured(old.map(({ one: _, series, ...rest }) => ({ ...rest, series: series.slice(0, 1) })));
    const verdictOf = (sum: number): string | undefined =>
      judge({
        candidate: measured([1, 2, 3].map(() => shared(GIB / 4, sum))),
        baseline,
        anchor: null,
        policy: DEFAULT_POLICY,
        baseRunsPossible: false,
      }).checks.find(({ kind, metric }) => kind === "peak" && metric === "host")?.verdict;
    expect([verdictOf(GIB), verdictOf(1.5 * GIB)]).toEqual(["pass", "fail"]);
    // Runs of the base commit in the same session are compared as the stored ones are.
    const mixed = { ...baseline, runs: [...baseline.runs, { ...shared(GIB / 4, GIB), commit: "base" }] };
    expect(
      judge({
        candidate: measured([1, 2, 3].map(() => shared(GIB / 4, 1.5 * GIB))),
        baseline: mixed,
        anchor: null,
        policy: DEFAULT_POLICY,
        baseRunsPossible: false,
      }).checks.find(({ kind, metric }) => kind === "peak" && metric === "host")?.verdict,
    ).toBe("fail");
  });

  it("asks for one run of the base commit, which is enough for a growth like its own", () => {
    const before = ask({ stored: six(LEAK), candidate: [run(FLAT)], baseRunsPossible: true });
    expect(before.next).toEqual({ kind: "base-runs", runs: 1 });
    const after = ask({ stored: six(LEAK), candidate: [run(FLAT)], base: [run(FLAT)], baseRunsPossible: true });
    expect(after).toMatchObject({ verdict: "pass", next: { kind: "done" } });
  });

  it("fails a leak that the base commit does not have in this session", () => {
    const base: MeasuredRun[] = [];
    const candidate = [run(LEAK)];
    for (;;) {
      const { next, verdict, confirmed } = ask({ stored: six(FLAT), candidate, base, baseRunsPossible: true });
      if (next.kind === "done") {
        expect({ verdict, confirmed }).toEqual({ verdict: "fail", confirmed: true });
        break;
      }
      if (next.kind === "candidate-runs") candidate.push(run(LEAK));
      else base.push(run(FLAT));
      expect(base.length + candidate.length).toBeLessThan(12);
    }
  });

  it("never fails unchanged code, whatever each version calls its growth", () => {
    const growth = fc.record({
      growth: fc.integer({ min: -200 * MIB, max: 900 * MIB }),
      drift: fc.constantFrom(...DRIFT_CLASSES),
    });
    fc.assert(
      fc.property(fc.array(growth, { minLength: 6, maxLength: 6 }), growth, fc.boolean(), (stored, now, possible) => {
        const candidate = [run(now)];
        const base: MeasuredRun[] = [];
        let judgement = ask({ stored, candidate, base, baseRunsPossible: possible });
        while (judgement.next.kind !== "done") {
          if (judgement.next.kind === "candidate-runs") candidate.push(run(now));
          else base.push(run(now));
          expect(base.length + candidate.length).toBeLessThan(16);
          judgement = ask({ stored, candidate, base, baseRunsPossible: possible });
        }
        expect(possible ? ["pass", "warn"] : ["unjudged"]).toContain(judgement.verdict);
      }),
      { numRuns: draws(100) },
    );
  });

  it("a baseline of another analysis version is compared in full once it has enough runs of this version", () => {
    const renewed = [0, 1, 2, 3, 4].map((day) => run(FLAT, `day-${day}`));
    const candidate = [run(LEAK), run(LEAK), run(LEAK)];
    expect(ask({ stored: six(LEAK), candidate, renewed }).verdict).toBe("fail");
    expect(ask({ stored: six(LEAK), candidate: [run(FLAT)], renewed }).verdict).toBe("pass");
  });
});
