import { MIB } from "../../../src/core/units.ts";
import { describeShare, Tally } from "../intervals.ts";
import { normal, seeded } from "../random.ts";
import { analysisOf } from "../rules/ours.ts";
import type { Part } from "./part.ts";

const TRIES = { quick: 600, full: 3000 } as const;
/** Samples: short runs are the difficult ones, so lengths are drawn evenly by their square root. */
const SAMPLES = [24, 300] as const;
const LEVEL = 2000 * MIB;
/** Height of a tooth. */
const HEIGHT = [50 * MIB, 1000 * MIB] as const;
/** Growth over the height, where there is growth. */
const GROWTH = [1 / 3, 2] as const;

const between = ([from, to]: readonly [number, number], random: () => number): number => from + (to - from) * random();

/** Teeth of height 1. */
interface Teeth {
  readonly name: string;
  readonly draw: (n: number, period: number, random: () => number) => Float64Array;
}

/** Equal teeth at a random phase, each value changed. */
const equal =
  (change: (value: number, random: () => number) => number): Teeth["draw"] =>
  (n, period, random) => {
    const phase = random();
    return Float64Array.from({ length: n }, (_, i) => change((i / period + phase) % 1, random));
  };

/** Teeth that fill at one rate: to 1, or up to 5 % more or less, and fall by 1, or up to 8 % more or less. */
const uneven =
  (limit: number, fall: number): Teeth["draw"] =>
  (n, period, random) => {
    let value = random();
    let most = 1;
    return Float64Array.from({ length: n }, () => {
      value += 1 / period;
      if (value >= most) {
        value = Math.max(0, value - between([1 - fall, 1 + fall], random));
        most = between([1 - limit, 1 + limit], random);
      }
      return value;
    });
  };

const TEETH: readonly Teeth[] = [
  { name: "equal", draw: equal((value) => value) },
  { name: "equal, noise of 1 % of the height", draw: equal((value, random) => value + 0.01 * normal(random)) },
  { name: "equal, noise of 3 %", draw: equal((value, random) => value + 0.03 * normal(random)) },
  { name: "equal, rounded to a twentieth", draw: equal((value) => Math.round(20 * value) / 20) },
  { name: "begin to fall at 95 to 105 %", draw: uneven(0.05, 0) },
  { name: "fall by 92 to 108 %", draw: uneven(0, 0.08) },
];

/** Saw-teeth of few samples a tooth, at rest and above growth. */
export const teeth: Part = ({ quick, seed }) => {
  const tries = quick ? TRIES.quick : TRIES.full;
  const rows = TEETH.map(({ name, draw }, t) => {
    const random = seeded(seed + 53 * t);
    const tally = new Tally();
    for (let k = 0; k < tries; k++) {
      const n = Math.round(between(SAMPLES, () => random() ** 2));
      const height = between(HEIGHT, random);
      const period = 2.5 * (n / 5 / 2.5) ** random();
      const shape = draw(n, period, random);
      const growth = height * between(GROWTH, random);
      for (const [key, grown] of [["rest", 0] as const, ["growth", growth] as const]) {
        const bytes = shape.map((value, i) => LEVEL + height * value + (grown * i) / (n - 1));
        const { class: found } = analysisOf(bytes);
        tally.add(`${key} leak`, found === "leak");
        tally.add(`${key} alarm`, found === "leak" || found === "rising");
      }
    }
    return [
      name,
      ...["rest leak", "rest alarm", "growth leak", "growth alarm"].map((key) => describeShare(tally.get(key))),
    ];
  });
  return [
    {
      title: "Saw-teeth of few samples",
      note: `${SAMPLES[0]} to ${SAMPLES[1]} samples, short runs most often; teeth of 2.5 samples to a fifth of the run, without growth and with growth of a third to twice their height.`,
      rows: [["teeth", "at rest: leak", "at rest: leak or rising", "growth: leak", "growth: leak or rising"], ...rows],
    },
  ];
};
