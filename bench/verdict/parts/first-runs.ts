import { MIB } from "../../../src/core/units.ts";
import { judgeUntilFinal, peakOnly } from "../decide.ts";
import { describeShare, type Share, shortShare } from "../intervals.ts";
import { NOISE_WORLDS, type NoiseWorld } from "../noise-worlds.ts";
import { normal, seeded } from "../random.ts";
import type { Part } from "./part.ts";

/** Changes judged per cell: without an effect, and with each. */
const ROUNDS = { quick: { clean: 1000, changed: 200 }, full: { clean: 20_000, changed: 2000 } } as const;
const EFFECTS = [1.02, 1.05, 1.1, 1.5] as const;
/** Runs in the baseline, a session each. */
const STORED = { incomplete: [1, 4], complete: [10] } as const;
/** Offset between sessions, a share of the level. */
const OFFSET = 0.01;

/** A base of 1 GiB plus a share of it. */
const world = (name: string, share: (random: () => number) => number): NoiseWorld => ({
  name,
  floor: 8 * MIB,
  draw: (random) => Math.round(1024 * MIB * (1 + share(random))),
});

const WORLDS: readonly NoiseWorld[] = [
  ...NOISE_WORLDS,
  world("gauss 3 %", (random) => 0.03 * normal(random)),
  world("uniform 5 %", (random) => 0.05 * random()),
  world("exponential 2 %", (random) => -0.02 * Math.log(1 - random())),
  world("lognormal, 1 %", (random) => 0.01 * Math.exp(normal(random))),
  world("Pareto, 0.2 %", (random) => 0.002 / (1 - random())),
  world("two levels, 10 % apart", (random) => (random() < 0.5 ? 0 : 0.1)),
  world("two levels and noise", (random) => (random() < 0.5 ? 0 : 0.1) + 0.01 * normal(random)),
  world("three levels", (random) => 0.05 * Math.floor(3 * random())),
];

interface JudgedShare {
  readonly red: Share;
  readonly warned: Share;
  readonly runs: number;
}

function judged(
  { draw }: NoiseWorld,
  stored: readonly number[],
  effect: number,
  count: number,
  seed: number,
): JudgedShare {
  const random = seeded(seed);
  let [red, warned, runs] = [0, 0, 0];
  for (let i = 0; i < count; i += 1) {
    const here = 1 + OFFSET * normal(random);
    const run = (times: number) => peakOnly(Math.round(times * draw(random)));
    const { judgement, candidateRuns, baseRuns } = judgeUntilFinal({
      baseline: Array.from({ length: stored[i % stored.length] ?? 1 }, () => [run(1 + OFFSET * normal(random))]),
      candidate: () => run(here * effect),
      base: () => run(here),
    });
    red += Number(judgement.verdict === "fail");
    warned += Number(judgement.verdict === "warn");
    runs += candidateRuns + baseRuns;
  }
  return { red: { hits: red, of: count }, warned: { hits: warned, of: count }, runs: runs / count };
}

/** The gate with an incomplete baseline, where the base commit runs in the session, and with a complete one. */
export const firstRuns: Part = ({ quick, seed }) => {
  const rounds = quick ? ROUNDS.quick : ROUNDS.full;
  return Object.entries(STORED).map(([name, stored]) => ({
    title: `Peak gate with a baseline that is ${name}`,
    note: `${stored.join(" or ")} runs in the baseline, each of a session, which differ by ${100 * OFFSET} %; ${rounds.clean} changes that change nothing, ${rounds.changed} with each effect. Red (warned; runs of the change and of the base).`,
    rows: [
      [
        "runs",
        "no change: red",
        "no change: warned",
        "no change: runs",
        ...EFFECTS.map((effect) => `+${Math.round(100 * (effect - 1))} %`),
      ],
      ...WORLDS.map((one, k) => {
        const clean = judged(one, stored, 1, rounds.clean, seed + 97 * k);
        const changed = EFFECTS.map((effect, e) => judged(one, stored, effect, rounds.changed, seed + 97 * k + 1 + e));
        return [
          one.name,
          describeShare(clean.red),
          shortShare(clean.warned),
          clean.runs.toFixed(2),
          ...changed.map(({ red, warned, runs }) => `${shortShare(red)} (${shortShare(warned)}; ${runs.toFixed(1)})`),
        ];
      }),
    ],
  }));
};
