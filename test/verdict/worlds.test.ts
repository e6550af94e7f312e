import { describe, expect, it } from "vitest";
import { type Drawn, tellStory } from "../../bench/verdict/gate-story.ts";
import { NOISE_WORLDS } from "../../bench/verdict/noise-worlds.ts";
import { normal, seeded } from "../../bench/verdict/random.ts";
import { MIB } from "../../src/core/units.ts";

const REPETITIONS = 400;

function stories(seed: number, draw: (random: () => number) => number, effect: number) {
  const random = seeded(seed);
  return Array.from({ length: REPETITIONS }, () => {
    const run = (factor: number): Drawn => ({ peak: draw(random) * factor });
    return tellStory({
      baseline: Array.from({ length: 10 }, () => [run(1)]),
      candidate: () => run(effect),
      base: () => run(1),
    });
  });
}

const red = (ends: ReturnType<typeof stories>) => ends.filter(({ judgement }) => judgement.verdict === "fail").length;

describe.each(NOISE_WORLDS)("peaks that vary like $name", ({ draw }) => {
  it("are never red without a change, and cost 1.36 runs at most", () => {
    const ends = stories(41, draw, 1);
    expect(red(ends)).toBe(0);
    expect(ends.filter(({ breached }) => breached).length).toBeLessThanOrEqual(3);
    expect(ends.reduce((sum, end) => sum + end.candidateRuns + end.baseRuns, 0) / REPETITIONS).toBeLessThan(1.36);
  });

  it("are red after a change of +5 %", () => {
    expect(red(stories(43, draw, 1.05))).toBeGreaterThanOrEqual(REPETITIONS - 4);
  });
});

describe("sessions that differ by 1 %", () => {
  it("raise no red alarm, however the baseline was collected", () => {
    const random = seeded(47);
    const run = (level: number): Drawn => ({ peak: level * (1 + 0.002 * normal(random)) });
    const night = () => 1024 * MIB * (1 + 0.01 * normal(random));
    let breached = 0;
    for (const [sessions, runs] of [
      [1, 10],
      [5, 2],
      [10, 1],
    ] as const) {
      for (let i = 0; i < 200; i += 1) {
        const today = night();
        const baseline = Array.from({ length: sessions }, () => {
          const level = night();
          return Array.from({ length: runs }, () => run(level));
        });
        const end = tellStory({ baseline, candidate: () => run(today), base: () => run(today) });
        breached += Number(end.breached);
        expect(end.judgement.verdict).not.toBe("fail");
      }
    }
    // The offsets are there: without base re-runs many of these would have been red.
    expect(breached).toBeGreaterThan(50);
  });
});
