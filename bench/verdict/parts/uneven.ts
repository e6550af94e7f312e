import { analyze } from "../../../src/analysis/analyze.ts";
import type { DriftClass } from "../../../src/analysis/series/document.ts";
import { ENDED, type GrowthShape, lateLine, restOf, SHAPE_NOISES } from "../corpus/growth-shapes.ts";
import { describeShare, Tally } from "../intervals.ts";
import { seeded } from "../random.ts";
import { analysisOf, recordingOf } from "../rules/ours.ts";
import type { Part } from "./part.ts";

const TRIES = { quick: 90, full: 450 } as const;
/** Points of the run, one a second, and samples that are taken of it. */
const POINTS = 4000;
const SAMPLES = [60, 600] as const;
/** Growth over what the run at rest states as detectable. */
const RATIOS = [2, 12] as const;

/** Positions of samples in a run of length 1, ascending from 0 to 1. */
interface Sampling {
  readonly name: string;
  readonly draw: (n: number, random: () => number) => Float64Array;
}

/** Scales gaps to a run of length 1. */
function positions(gaps: readonly number[]): Float64Array {
  let at = 0;
  const ends = gaps.map((gap) => {
    at += gap;
    return at;
  });
  return Float64Array.from([0, ...ends.map((end) => end / at)]);
}

const gaps = (n: number, of: (share: number) => number): readonly number[] =>
  Array.from({ length: n - 1 }, (_, i) => of(i / (n - 2)));

const SAMPLINGS: readonly Sampling[] = [
  { name: "even", draw: (n) => positions(gaps(n, () => 1)) },
  {
    name: "rate changes once, 2 to 10 times",
    draw: (n, random) => {
      const [at, factor] = [0.2 + 0.6 * random(), 2 + 8 * random()];
      const early = random() < 0.5;
      return positions(gaps(n, (share) => (share < at === early ? factor : 1)));
    },
  },
  { name: "ever more seldom, to a tenth", draw: (n) => positions(gaps(n, (share) => 10 ** share)) },
  {
    name: "random gaps (exponential)",
    draw: (n, random) => positions(gaps(n, () => 0.01 - Math.log(1 - random()))),
  },
  {
    name: "three pauses of a tenth of the run",
    draw: (n, random) => {
      const pauses = new Set(Array.from({ length: 3 }, () => Math.floor(random() * (n - 1))));
      const one = (0.1 * n) / (1 - 0.1 * pauses.size);
      return positions(Array.from({ length: n - 1 }, (_, i) => (pauses.has(i) ? one : 1)));
    },
  },
];

const GROWTH: readonly { readonly name: string; readonly leaks: boolean; readonly draw: GrowthShape["draw"] }[] = [
  { name: "rest", leaks: false, draw: ({ n }) => new Float64Array(n) },
  ...ENDED.slice(0, 2).map(({ name, draw }) => ({ name, leaks: false, draw })),
  {
    name: "a saturating warm-up",
    leaks: false,
    draw: ({ n, random }) => {
      const tau = n * (0.03 + 0.07 * random());
      return Float64Array.from({ length: n }, (_, i) => 1 - Math.exp(-i / tau));
    },
  },
  { name: "a line", leaks: true, draw: ({ n }) => lateLine(n, 0) },
];

function classAt(values: Float64Array, at: Float64Array): DriftClass {
  const taken = at.map((share) => Math.round(share * (values.length - 1)));
  const bytes = Float64Array.from(taken, (i) => values[i] ?? Number.NaN);
  const recording = recordingOf(bytes, "level", taken);
  return analyze(recording).series[0]?.class ?? "unavailable";
}

/** The same runs, sampled at rates that change. */
export const uneven: Part = ({ quick, seed }) => {
  const tries = quick ? TRIES.quick : TRIES.full;
  const rows = SAMPLINGS.map(({ name, draw: place }, s) => {
    const tally = new Tally();
    for (const [g, { leaks, draw }] of GROWTH.entries()) {
      const random = seeded(seed + 97 * g);
      const placing = seeded(seed + 31 * s + 7 * g);
      for (let k = 0; k < tries; k++) {
        const noise = SHAPE_NOISES[k % SHAPE_NOISES.length] ?? { name: "", phi: 0, sd: [0, 0] as const };
        const rest = restOf(noise, POINTS, random);
        const n = Math.round(SAMPLES[0] * (SAMPLES[1] / SAMPLES[0]) ** random());
        const even = rest.values.filter((_, i) => i % Math.ceil(POINTS / n) === 0);
        const minimum = analysisOf(even).mde_bytes ?? 0.1 * rest.level;
        const size = minimum * RATIOS[0] * (RATIOS[1] / RATIOS[0]) ** random();
        const shape = draw({ n: POINTS, random });
        const found = classAt(
          rest.values.map((value, i) => value + size * (shape[i] ?? 0)),
          place(n, placing),
        );
        tally.add(leaks ? "leak" : "false", found === "leak");
        tally.add(leaks ? "alarm" : "false alarm", found === "leak" || found === "rising");
      }
    }
    return [name, ...["false", "leak", "alarm"].map((key) => describeShare(tally.get(key)))];
  });
  return [
    {
      title: "Samples that lie unevenly",
      note: `${SAMPLES[0]} to ${SAMPLES[1]} samples of the same runs of ${POINTS} steps: at rest, a ramp between two rests, two ramps, a saturating warm-up, and a line, of ${RATIOS[0]} to ${RATIOS[1]} times what the run at rest states as detectable; noise none, white and AR(1) .9.`,
      rows: [["sampling", "nothing leaks: leak", "a line: leak", "a line: leak or rising"], ...rows],
    },
  ];
};
