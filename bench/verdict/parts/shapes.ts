import type { SeriesAnalysis } from "../../../src/analysis/series/document.ts";
import {
  ENDED,
  GOING_ON,
  type GrowthShape,
  grown,
  LOGARITHMIC,
  lateLine,
  lengthOf,
  restOf,
  SHAPE_NOISES,
  type ShapeNoise,
} from "../corpus/growth-shapes.ts";
import { describeShare, shortShare, Tally } from "../intervals.ts";
import { seeded } from "../random.ts";
import { analysisOf } from "../rules/ours.ts";
import type { Part, Table } from "./part.ts";

const TRIES = { quick: 150, full: 600 } as const;
/** Growth over what the run without it states as detectable, logarithmically even between the two. */
const RATIOS = [0.5, 12] as const;
const FAR = 3;
const ONSETS = [...Array.from({ length: 10 }, (_, k) => [k / 10, k / 10] as const), [0.6, 0.8], [0.7, 0.88]] as const;
const SHORT = [24, 50] as const;

interface Tried {
  readonly noise: ShapeNoise;
  readonly analysis: SeriesAnalysis;
  /** Growth over what the run itself states as detectable, and over what it states without the growth. */
  readonly own: number;
  readonly atRest: number;
}

/** Minimum that a run states, bytes; where it states none, no growth counts as above it. */
const stated = ({ mde_bytes }: SeriesAnalysis): number => mde_bytes ?? Number.POSITIVE_INFINITY;

/** A run that grows by a shape, sized by what the same run at rest calls detectable. */
function tryShape(
  draw: GrowthShape["draw"],
  noise: ShapeNoise,
  random: () => number,
  [low, high]: readonly [number, number] = RATIOS,
): Tried {
  const n = lengthOf(random);
  const rest = restOf(noise, n, random);
  const ratio = low * (high / low) ** random();
  const minimum = stated(analysisOf(rest.values));
  const bytes = ratio * (Number.isFinite(minimum) ? minimum : 0.1 * rest.level);
  const analysis = analysisOf(grown(rest, draw({ n, random }), bytes));
  return { noise, analysis, own: bytes / stated(analysis), atRest: bytes / minimum };
}

const isLeak = ({ analysis }: Tried): boolean => analysis.class === "leak";
const isAlarm = ({ analysis }: Tried): boolean => analysis.class === "leak" || analysis.class === "rising";

function share(tries: readonly Tried[], hit: (one: Tried) => boolean): string {
  return describeShare({ hits: tries.filter(hit).length, of: tries.length });
}

function many(draw: GrowthShape["draw"], count: number, seed: number, ratios?: readonly [number, number]): Tried[] {
  const random = seeded(seed);
  return SHAPE_NOISES.flatMap((noise) =>
    Array.from({ length: Math.ceil(count / SHAPE_NOISES.length) }, () => tryShape(draw, noise, random, ratios)),
  );
}

function ended(count: number, seed: number): Table {
  const byFamily = ENDED.map(({ name, draw }, k) => [name, many(draw, count, seed + 211 * k)] as const);
  const rows = [...byFamily, ["all", byFamily.flatMap(([, tries]) => tries)] as const].map(([name, tries]) => [
    name,
    share(
      tries.filter(({ own }) => own >= FAR),
      isLeak,
    ),
    share(
      tries.filter(({ atRest }) => atRest >= FAR),
      isLeak,
    ),
    share(
      tries.filter(({ atRest }) => atRest < FAR),
      isLeak,
    ),
    share(tries, isAlarm),
  ]);
  return {
    title: "Growth that ended",
    note: `Every \`leak\` is false: the run is at rest for its last fifth or more. Noise none, white and AR(1) .9; 60 to 1,500 samples; growth of ${RATIOS[0]} to ${RATIOS[1]} times what the same run at rest states as detectable. A ramp takes 5 to 25 % of the run, equal stages end at 50 to 70 %, jumps at 75 % at the latest.`,
    rows: [
      [
        "growth",
        "leak, from 3 × its stated minimum",
        "leak, from 3 × that of the run at rest",
        "leak, below",
        "leak or rising",
      ],
      ...rows,
    ],
  };
}

function onset(count: number, seed: number): Table {
  const rows = ONSETS.map(([from, to], k) => {
    const tries = many(({ n, random }) => lateLine(n, from + (to - from) * random()), count, seed + 307 * k, [
      FAR,
      RATIOS[1],
    ]);
    const percent = (value: number) => Math.round(100 * value);
    return [
      from === to ? `${percent(from)} %` : `${percent(from)} to ${percent(to)} %`,
      share(tries, isAlarm),
      share(tries, isLeak),
      ...SHAPE_NOISES.map((noise) => {
        const these = tries.filter((one) => one.noise === noise);
        return shortShare({ hits: these.filter(isAlarm).length, of: these.length });
      }),
    ];
  });
  return {
    title: "Leaks that begin late",
    note: `Nothing until the onset, then a line to the end, of ${FAR} to ${RATIOS[1]} times what the same run at rest states as detectable over its whole length. The last columns are the alarms (leak or rising) by noise.`,
    rows: [["onset", "leak or rising", "leak", ...SHAPE_NOISES.map(({ name }) => `alarm, ${name}`)], ...rows],
  };
}

function mistaken(count: number, seed: number): Table {
  const shapes = [...GOING_ON, LOGARITHMIC];
  const rows = shapes.map(({ name, draw }, k) => {
    const tries = many(draw, count, seed + 401 * k, [FAR, RATIOS[1]]);
    return [
      name,
      share(tries, isAlarm),
      share(tries, isLeak),
      share(
        tries.filter(({ own }) => own >= 1),
        (one) => !isAlarm(one),
      ),
    ];
  });
  return {
    title: "Growth that is easily mistaken",
    note: `Of ${FAR} to ${RATIOS[1]} times what the same run at rest states as detectable. The last column counts the runs that grew by more than they themselves state as detectable, and said nothing. Logarithmic growth slows down without an end: \`rising\` is right there.`,
    rows: [["growth", "leak or rising", "leak", "silent above its stated minimum"], ...rows],
  };
}

/** Short runs of noise that wanders: every alarm is false. */
function short(count: number, seed: number): Table {
  const random = seeded(seed);
  const tally = new Tally();
  for (let k = 0; k < 4 * count; k += 1) {
    const n = SHORT[0] + Math.floor((SHORT[1] - SHORT[0] + 1) * random());
    for (const phi of [0, 0.9]) {
      const { values } = restOf({ name: "", phi, sd: [0.01, 0.08] }, n, random);
      const found = analysisOf(values).class;
      tally.add(`${phi} leak`, found === "leak");
      tally.add(`${phi} alarm`, found === "leak" || found === "rising");
    }
  }
  return {
    title: "Short runs without growth",
    note: `${SHORT[0]} to ${SHORT[1]} samples, a standard deviation of 1 to 8 % of the level, far above the floor.`,
    rows: [
      ["noise", "leak", "leak or rising"],
      ...[0, 0.9].map((phi) => [
        phi === 0 ? "white" : `AR(1) ${phi}`,
        describeShare(tally.get(`${phi} leak`)),
        describeShare(tally.get(`${phi} alarm`)),
      ]),
    ],
  };
}

/** Shapes that lie between a step, a plateau and a leak, by noise and by size. */
export const shapes: Part = ({ quick, seed }) => {
  const count = quick ? TRIES.quick : TRIES.full;
  return [
    ended(count, seed + 41),
    onset(Math.ceil((count * 3) / 5), seed + 43),
    mistaken(count, seed + 47),
    short(count, seed + 53),
  ];
};
