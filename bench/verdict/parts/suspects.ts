import { analyze } from "../../../src/analysis/analyze.ts";
import type { RanksAnalysis } from "../../../src/analysis/series/document.ts";
import { MIB } from "../../../src/core/units.ts";
import type { Recording, SampleTable } from "../../../src/telemetry/recording/model.ts";
import { describeShare, Tally } from "../intervals.ts";
import { normal, seeded } from "../random.ts";
import type { Part } from "./part.ts";

const TRIES = { quick: 60, full: 400 } as const;
const RANKS = 8;
const STEPS = 300;
const NOISE = 4 * MIB;
/** Leaked over the run, MiB, logarithmically even between the two. */
const LEAK = [200, 2000] as const;

interface Suspect {
  readonly rank: number;
  readonly confidence: string;
}

/** Our own suspects where the document has them, else Stormlog's. */
function suspectsOf(ranks: RanksAnalysis): readonly Suspect[] {
  const own: unknown = "suspects" in ranks ? ranks.suspects : undefined;
  return Array.isArray(own) ? (own as readonly Suspect[]) : ranks.first_cause_suspects;
}

/** What one rank holds above its level at a step, MiB. */
type Life = (step: number) => number;

/** Device memory of a rank before its first step, MiB. */
const LEVEL = 2048;

/** Memory that fills over the first part of the run, at each rank in its own way. */
function warmUp(random: () => number): Life {
  const [size, tau, late] = [LEVEL * (0.3 + 2.7 * random()), 1 + 14 * random(), 10 * random()];
  return (step) => (step < late ? 0 : size * (1 - Math.exp(-(step - late) / tau)));
}

/** Allocations of the first steps, at slightly different steps of the ranks. */
function jumps(random: () => number): Life {
  const at = Array.from({ length: 3 }, () => 1 + Math.floor(20 * random()));
  const size = 80 + 400 * random();
  return (step) => at.filter((one) => step >= one).length * size;
}

/** One process a rank, its device memory after every step; clocks of one machine, a few milliseconds apart. */
function recordingOf(lives: readonly Life[], clock: boolean, random: () => number): Recording {
  const tables = lives.map((life, rank): SampleTable => {
    const start = 5e6 * random();
    return {
      rank,
      device: `cuda:${rank}`,
      timeNs: clock ? Float64Array.from({ length: STEPS }, (_, i) => Math.round(start + i * 1e8)) : null,
      steps: Float64Array.from({ length: STEPS }, (_, i) => i),
      columns: {
        allocated: Float64Array.from({ length: STEPS }, (_, step) =>
          Math.round(MIB * (LEVEL + life(step)) + NOISE * normal(random)),
        ),
      },
      highwater: new Set(),
    };
  });
  return {
    epochNs: clock ? 1_700_000_000_000_000_000n : null,
    tables,
    peaks: [],
    marks: [],
    events: null,
    worldSize: RANKS,
    missing: {},
    info: null,
  };
}

/** Which of eight ranks is named the cause. */
export const suspects: Part = ({ quick, seed }) => {
  const tries = quick ? TRIES.quick : TRIES.full;
  const kinds = [
    { name: "level ranks", leaks: true, life: (): Life => () => 0 },
    { name: "ranks that warm up", leaks: true, life: warmUp },
    { name: "level ranks, none leaks", leaks: false, life: (): Life => () => 0 },
    { name: "ranks that warm up, none leaks", leaks: false, life: warmUp },
    { name: "ranks with early jumps, none leaks", leaks: false, life: jumps },
  ];
  const tally = new Tally();
  const rows = kinds.flatMap(({ name, leaks, life }, k) =>
    [true, false].map((clock) => {
      const random = seeded(seed + 71 * k);
      const key = `${name} ${clock}`;
      for (let i = 0; i < tries; i += 1) {
        const lives = Array.from({ length: RANKS }, () => life(random));
        const guilty = Math.floor(RANKS * random());
        const total = LEAK[0] * (LEAK[1] / LEAK[0]) ** random();
        const onset = STEPS * 0.6 * random();
        const leaking = lives.map(
          (own, rank): Life =>
            leaks && rank === guilty
              ? (step) => own(step) + (total * Math.max(0, step - onset)) / (STEPS - 1 - onset)
              : own,
        );
        const found = suspectsOf(analyze(recordingOf(leaking, clock, random)).ranks);
        const high = found.filter(({ confidence }) => confidence === "high");
        tally.add(`${key} any`, found.length > 0);
        tally.add(
          `${key} named`,
          found.some(({ rank }) => rank === guilty),
        );
        tally.add(`${key} right`, high.length === 1 && high[0]?.rank === guilty);
        tally.add(`${key} high`, high.length > 0);
        tally.add(
          `${key} wrong`,
          high.some(({ rank }) => !leaks || rank !== guilty),
        );
      }
      const cell = (what: string) => describeShare(tally.get(`${key} ${what}`));
      return [
        name,
        clock ? "clock and steps" : "steps alone",
        leaks ? cell("right") : "–",
        leaks ? cell("named") : "–",
        cell("wrong"),
        cell("any"),
      ];
    }),
  );
  return [
    {
      title: "The suspect among eight ranks",
      note: `${STEPS} steps; where one rank leaks, ${LEAK[0]} to ${LEAK[1]} MiB from a point in the first 60 % of the run to its end. Right: it is the only suspect of high confidence.`,
      rows: [
        ["ranks", "recorded", "right, high", "leaking rank named at all", "a wrong one at high", "any suspect"],
        ...rows,
      ],
    },
  ];
};
