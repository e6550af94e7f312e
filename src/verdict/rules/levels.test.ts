import { describe, expect, it } from "vitest";
import type { MeasuredRun } from "../../analysis/measurements.ts";
import { GIB, MIB } from "../../core/units.ts";
import { judge } from "../judge.ts";
import { DEFAULT_POLICY } from "../model/defaults.ts";
import { judgementDocument } from "../model/judgement-document.ts";
import { measured, runOf } from "../testing/measurements.ts";
import { levelsOf } from "./levels.ts";

const margin = (centre: number, spread: number) => Math.max(2 * MIB, 0.005 * centre, spread);
const night = (value: number, k: number) => ({ session: `night-${k}`, value: GIB * value });

/** Runs of a program that chooses between two levels, the upper a tenth above the lower, in turn. */
const inTurn = (k: number) => (k % 2 === 0 ? 1 : 1.1) + 0.002 * (k % 3);

/** Judges peaks in GiB against ten sessions of the program, one run at a time, with at most `most` runs. */
function judged(candidate: (k: number) => number, base: ((k: number) => number) | null, most = 30) {
  const run = (value: number, session = "pr") => runOf(session, { peak_bytes: Math.round(GIB * value) });
  const runs = [run(candidate(0))];
  const baseRuns: MeasuredRun[] = [];
  const stored = Array.from({ length: 10 }, (_, k) => run(inTurn(k), `night-${k}`));
  for (;;) {
    const isLast = runs.length + baseRuns.length === most;
    const judgement = judge({
      candidate: measured(runs),
      baseline: measured(stored),
      baseRuns,
      anchor: null,
      policy: DEFAULT_POLICY,
      baseRunsPossible: base !== null && !isLast,
      moreRunsPossible: !isLast,
    });
    const { verdict, final, confirmed, reason, checks, needs_more_runs } = judgementDocument(judgement);
    const mde = checks[0]?.mde_bytes;
    if (final) return { verdict, confirmed, reason, mde, runs: [runs.length, baseRuns.length] };
    if (needs_more_runs > 0) runs.push(run(candidate(runs.length)));
    else if (base !== null) baseRuns.push(run(base(baseRuns.length)));
  }
}

describe("the levels of a program", () => {
  it("two levels are those between which no run lies", () => {
    const levels = levelsOf(
      Array.from({ length: 10 }, (_, k) => night(inTurn(k), k)),
      margin,
    );
    expect(levels?.groups.map(({ length }) => length)).toEqual([5, 5]);
    expect(levels?.lowest).toBeGreaterThan(1.004 * GIB);
  });

  it("evenly spread runs and a single outlier are no levels", () => {
    expect(
      levelsOf(
        Array.from({ length: 10 }, (_, k) => night(1 + 0.01 * k, k)),
        margin,
      ),
    ).toBeNull();
    expect(
      levelsOf(
        Array.from({ length: 10 }, (_, k) => night(k === 3 ? 1.2 : 1, k)),
        margin,
      ),
    ).toBeNull();
  });

  it("levels of sessions are none of the program", () => {
    const sessions = Array.from({ length: 10 }, (_, k) => ({ session: `night-${k % 2}`, value: GIB * inTurn(k) }));
    expect(levelsOf(sessions, margin)).toBeNull();
    const mixed = sessions.map((run, k) => ({ ...run, session: `night-${k >> 2}` }));
    expect(levelsOf(mixed, margin)).not.toBeNull();
  });
});

describe("a program with two levels", () => {
  it("a rise of both by the gap between them fails, confirmed by the base commit", () => {
    const found = judged((k) => 1.1 * inTurn(k), inTurn);
    expect(found).toMatchObject({ verdict: "fail", confirmed: true, mde: null });
    expect(found.reason).toMatch(/is 1\d\d\.\d+ MiB above .*confirmed \(false alarm probability 0\.0\d+ %\)/);
    expect(Math.max(...found.runs)).toBeLessThanOrEqual(12);
  });

  it("unchanged runs pass with the first at the lower level", () => {
    expect(judged(inTurn, inTurn)).toMatchObject({ verdict: "pass", runs: [1, 0] });
    expect(judged((k) => inTurn(k + 1), inTurn)).toMatchObject({ verdict: "pass", runs: [2, 0], mde: null });
  });

  it("too few runs warn, and the first line counts those that are missing", () => {
    const found = judged((k) => 1.1 * inTurn(k), inTurn, 8);
    expect(found).toMatchObject({ verdict: "warn", confirmed: false });
    expect(found.reason).toMatch(/\d runs cannot show whether they became more frequent, \d more would$/);
  });

  it("runs at one level in a session whose base runs are there too pass", () => {
    const upper = () => 1.1;
    expect(judged(upper, upper)).toMatchObject({ verdict: "pass", runs: [6, 3] });
  });

  it("runs at one level fail only against base runs: a session may have it", () => {
    const found = judged(() => 1.1, null);
    expect(found.verdict).not.toBe("fail");
  });
});
