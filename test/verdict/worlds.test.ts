import { describe, expect, it } from "vitest";
import { judgeUntilFinal, peakOnly } from "../../bench/verdict/decide.ts";
import { NOISE_WORLDS } from "../../bench/verdict/noise-worlds.ts";
import { normal, seeded } from "../../bench/verdict/random.ts";
import type { MeasuredSeries } from "../../src/analysis/measurements.ts";
import { MIB } from "../../src/core/units.ts";

const REPETITIONS = 400;
type Pace = "one" | "asked";

function outcomes(
  seed: number,
  draw: (random: () => number) => number,
  effect: number,
  how: { readonly pace?: Pace; readonly base?: boolean } = {},
) {
  const random = seeded(seed);
  return Array.from({ length: REPETITIONS }, () => {
    const run = (factor: number): MeasuredSeries => peakOnly(Math.round(draw(random) * factor));
    return judgeUntilFinal({
      baseline: Array.from({ length: 10 }, () => [run(1)]),
      candidate: () => run(effect),
      base: how.base === false ? null : () => run(1),
      pace: how.pace ?? "one",
    });
  });
}

const red = (ends: ReturnType<typeof outcomes>) => ends.filter(({ judgement }) => judgement.verdict === "fail").length;

describe.each(NOISE_WORLDS)("peaks that vary like $name", ({ draw }) => {
  it("peaks without a change are never red and cost 1.36 runs at most", () => {
    const ends = outcomes(41, draw, 1);
    expect(red(ends)).toBe(0);
    expect(ends.reduce((sum, end) => sum + end.candidateRuns + end.baseRuns, 0) / REPETITIONS).toBeLessThan(1.36);
  });

  it("peaks without a change are rarely red where the base cannot be run", () => {
    expect(red(outcomes(42, draw, 1, { base: false }))).toBeLessThanOrEqual(3);
  });

  it.each(["one", "asked"] as const)("peaks after a change of +5 %% are red (pace of runs: %s)", (pace) => {
    expect(red(outcomes(43, draw, 1.05, { pace }))).toBeGreaterThanOrEqual(REPETITIONS - 4);
  });
});

describe("sessions that differ by 1 %", () => {
  /** Changes without an effect, 200 for each way to collect a baseline, each in a new session. */
  const judgedEnds = (layouts: readonly (readonly [sessions: number, runs: number])[], base: boolean) => {
    const random = seeded(47);
    const run = (level: number) => peakOnly(Math.round(level * (1 + 0.002 * normal(random))));
    const night = () => 1024 * MIB * (1 + 0.01 * normal(random));
    return layouts.flatMap(([sessions, runs]) =>
      Array.from({ length: 200 }, () => {
        const today = night();
        const baseline = Array.from({ length: sessions }, () => {
          const level = night();
          return Array.from({ length: runs }, () => run(level));
        });
        return judgeUntilFinal({ baseline, candidate: () => run(today), base: base ? () => run(today) : null });
      }),
    );
  };

  it("sessions that differ by 1 % raise no false alarm, however the baseline was collected", () => {
    const ends = judgedEnds(
      [
        [1, 10],
        [5, 2],
        [10, 1],
      ],
      true,
    );
    expect(red(ends)).toBe(0);
    // The offsets have an effect: many of these needed the base commit.
    expect(ends.filter(({ baseRuns }) => baseRuns > 0).length).toBeGreaterThan(50);
  });

  it("sessions that differ by 1 % rarely raise an alarm without the base, if the baseline has several sessions", () => {
    const ends = judgedEnds(
      [
        [5, 2],
        [10, 1],
      ],
      false,
    );
    expect(red(ends)).toBeLessThanOrEqual(3);
    expect(ends.filter(({ judgement }) => judgement.verdict === "warn").length).toBeGreaterThan(20);
  });
});
