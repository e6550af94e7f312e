import { MIB } from "../../../src/core/units.ts";
import { judgeUntilFinal, peakOnly } from "../decide.ts";
import { describeShare, shortShare } from "../intervals.ts";
import { normal, seeded } from "../random.ts";
import type { Part } from "./part.ts";

/** Changes judged per cell: without an effect, and with one. */
const ROUNDS = { quick: { clean: 1000, changed: 200 }, full: { clean: 20_000, changed: 1000 } } as const;
const EFFECTS = [1, 1.1, 1.5] as const;
/** Offset between sessions, a share of the level. */
const OFFSET = 0.01;

/** Share of the base by which a run lies above it. */
const WORLDS: Readonly<Record<string, (random: () => number) => number>> = {
  "half of the runs 10 % higher": (random) => (random() < 0.5 ? 0 : 0.1),
  "the same and noise of 1 %": (random) => (random() < 0.5 ? 0 : 0.1) + 0.01 * normal(random),
  "one run in five 10 % higher": (random) => (random() < 0.8 ? 0 : 0.1),
  "one run in five 10 % lower": (random) => (random() < 0.2 ? 0 : 0.1),
  "half of the runs 3 % higher": (random) => (random() < 0.5 ? 0 : 0.03),
  "three levels, 5 % apart": (random) => 0.05 * Math.floor(3 * random()),
};

function judged(draw: (random: () => number) => number, effect: number, count: number, seed: number, hasBase: boolean) {
  const random = seeded(seed);
  const session = () => 1 + OFFSET * normal(random);
  const run = (times: number) => peakOnly(Math.round(1024 * MIB * times * (1 + draw(random))));
  const made: number[] = [];
  let red = 0;
  for (let i = 0; i < count; i += 1) {
    const here = session();
    const { judgement, candidateRuns, baseRuns } = judgeUntilFinal({
      baseline: Array.from({ length: 10 }, () => [run(session())]),
      candidate: () => run(here * effect),
      base: hasBase ? () => run(here) : null,
    });
    red += Number(judgement.verdict === "fail");
    made.push(candidateRuns + baseRuns);
  }
  made.sort((a, b) => a - b);
  const mean = made.reduce((sum, runs) => sum + runs, 0) / count;
  return { red: { hits: red, of: count }, runs: `${mean.toFixed(2)}, ${made[Math.floor(0.9 * count)]}` };
}

/** Programs whose runs choose between levels, which no fixed limit separates from a change. */
export const levels: Part = ({ quick, seed }) => {
  const rounds = quick ? ROUNDS.quick : ROUNDS.full;
  const rows = Object.entries(WORLDS).flatMap(([name, draw], k) =>
    [true, false].map((hasBase) => {
      const cells = EFFECTS.map((effect, e) => {
        const count = effect === 1 ? rounds.clean : rounds.changed;
        const { red, runs } = judged(draw, effect, count, seed + 97 * k + e, hasBase);
        return `${effect === 1 ? describeShare(red) : shortShare(red)} (${runs})`;
      });
      return [name, hasBase ? "yes" : "no", ...cells];
    }),
  );
  return [
    {
      title: "Peak gate of programs with levels",
      note: `10 runs in the baseline, each of a session, which differ by ${100 * OFFSET} %; ${rounds.clean} changes that change nothing, ${rounds.changed} with each effect. Red (runs of the change and of the base: mean, and nine in ten need at most).`,
      rows: [["runs", "base run", "no change", "+10 %", "+50 %"], ...rows],
    },
  ];
};
