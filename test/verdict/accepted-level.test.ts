import { describe, expect, it } from "vitest";
import { normal, seeded } from "../../bench/verdict/random.ts";
import type { MeasuredRun } from "../../src/analysis/measurements.ts";
import { earlierRuns, selectRuns, toMeasurements } from "../../src/baseline/record.ts";
import { acceptRuns, addRuns, emptyRecord } from "../../src/baseline/record-changes.ts";
import { judge } from "../../src/verdict/judge.ts";
import { DEFAULT_POLICY } from "../../src/verdict/model/defaults.ts";
import type { Judgement } from "../../src/verdict/model/judgement.ts";

const MIB = 2 ** 20;
const FINGERPRINT = { command: "train" };

/** Peak and growth of one run at a level, bytes. */
type Program = (level: number) => { readonly peak: number; readonly growth: number };

function run(session: string, { peak, growth }: ReturnType<Program>, drift: "flat" | "leak" = "flat"): MeasuredRun {
  const key = { rank: 0, device: "host", metric: "host" } as const;
  const slope = { slope_bytes_per_s: growth / 10, slope_bytes_per_step: null };
  const series = [{ ...key, peak_bytes: peak, growth_bytes: growth, ...slope, class: drift }];
  return { session, commit: null, series };
}

const recorded = (measured: MeasuredRun) => ({ measured, timeIso: "2026-11-22T00:00:00Z", approved: true });

/** Judge runs until the judgement is final, by one accepted run and the five of the level before it, if any. */
function judged(earlier: readonly MeasuredRun[], accepted: MeasuredRun, next: () => MeasuredRun): Judgement {
  const before = emptyRecord("train", FINGERPRINT);
  const known = earlier.length === 0 ? before : addRuns(before, earlier.map(recorded));
  const record = acceptRuns(known, [recorded(accepted)], "intended");
  const selected = selectRuns(record, null);
  const own = toMeasurements(record, selected);
  const baseline = { ...own, runs: [...earlierRuns(record, selected, null), ...own.runs] };
  const runs: MeasuredRun[] = [];
  for (;;) {
    runs.push(next());
    const candidate = { scenario: "train", fingerprint: FINGERPRINT, runs };
    const judgement = judge({ candidate, baseline, anchor: null, policy: DEFAULT_POLICY, baseRunsPossible: false });
    if (judgement.next.kind === "done" || runs.length === 10) return judgement;
  }
}

describe("a level of one accepted run", () => {
  const TRIES = 300;

  it.each([3, 10])("does not fail an unchanged noisy program at %s times the level before", (ratio) => {
    const random = seeded(ratio);
    const programs: readonly Program[] = [
      ...[0.03, 0.05, 0.1].map((noise) => (level: number) => ({
        peak: level * (1 + noise * normal(random)),
        growth: 0,
      })),
      (level) => ({ peak: level * (0.9 + 0.2 * random()), growth: 0 }),
      (level) => {
        const growth = Math.max(0, 0.5 * level * (1 + 0.1 * normal(random)));
        return { peak: level + growth, growth };
      },
    ];
    let failed = 0;
    for (const program of programs) {
      for (let attempt = 0; attempt < TRIES; attempt += 1) {
        const earlier = [0, 1, 2, 3, 4].map((index) => run(`earlier-${index}`, program(40 * MIB)));
        const { verdict } = judged(earlier, run("accepted", program(40 * MIB * ratio)), () =>
          run("candidate", program(40 * MIB * ratio)),
        );
        if (verdict === "fail") failed += 1;
      }
    }
    // With the spread of the lower level as it is, 1.4 % to 2.5 % of them fail at ten times the level.
    expect(failed / (TRIES * programs.length)).toBeLessThan(0.003);
  });

  it("fails a program that doubles its memory", () => {
    const random = seeded(7);
    const program: Program = (level) => ({ peak: level * (1 + 0.01 * normal(random)), growth: 0 });
    const earlier = [0, 1, 2, 3, 4].map((index) => run(`earlier-${index}`, program(40 * MIB)));
    const doubled = judged(earlier, run("accepted", program(80 * MIB)), () => run("candidate", program(160 * MIB)));
    expect(doubled.verdict).toBe("fail");
  });

  it("leaves growth like that of the accepted run unjudged, and fails several times as much", () => {
    const accepted = run("accepted", { peak: 100 * MIB, growth: 60 * MIB }, "leak");
    const leaking = (growth: number) => () => run("candidate", { peak: 100 * MIB, growth }, "leak");
    expect(judged([], accepted, leaking(75 * MIB)).verdict).toBe("unjudged");
    expect(judged([], accepted, leaking(300 * MIB)).verdict).toBe("fail");
    const flat = run("accepted", { peak: 100 * MIB, growth: 0 });
    expect(judged([], flat, leaking(75 * MIB)).verdict).toBe("fail");
  });
});
