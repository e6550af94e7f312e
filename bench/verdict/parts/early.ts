import type { MeasuredSeries } from "../../../src/analysis/measurements.ts";
import { MIB } from "../../../src/core/units.ts";
import { BASE, drawRun, FAMILIES, type Family, measuredSeries, SAMPLES } from "../corpus/families.ts";
import { type DecisionOutcome, judgeUntilFinal, peakOnly } from "../decide.ts";
import { describeShare, shortShare } from "../intervals.ts";
import { normal, seeded } from "../random.ts";
import type { Part, Table } from "./part.ts";

/** Minimum baseline runs that are judged: they contain the fewest modes of a program. */
const HISTORY = 5;
const SIZES = {
  quick: { clean: 150, leaky: 40, judged: 300, peaks: 2000 },
  full: { clean: 600, leaky: 100, judged: 3000, peaks: 20_000 },
} as const;
type Sizes = (typeof SIZES)["quick" | "full"];
const LEAKS = [0.1, 0.5] as const;

/** Shares of runs in a mode that the baseline seldom shows. */
const MODES = [1 / 50, 1 / 20, 1 / 10, 1 / 5, 2 / 5] as const;
const modeName = (share: number): string => `1 run in ${Number((1 / share).toFixed(1))}`;

/** Runs that stay level, of which some fill half of the base evenly until their end, as a leak does. */
const filling = (share: number): Family => ({
  name: `${modeName(share)} fills a cache until its end`,
  draw: (random) => {
    const fills = random() < share;
    return (sample) => (fills ? (512 * sample) / SAMPLES : 0) + normal(random);
  },
});

const WORLDS: readonly Family[] = [...FAMILIES, ...MODES.slice(0, 3).map(filling)];

/** Whether the runs of the baseline are of one session, or of a session each. */
const LAYOUTS = ["one session", "a session each"] as const;

function inLayout(
  layout: (typeof LAYOUTS)[number],
  draw: () => MeasuredSeries,
): readonly (readonly MeasuredSeries[])[] {
  const runs = Array.from({ length: HISTORY }, draw);
  return layout === "one session" ? [runs] : runs.map((run) => [run]);
}

function pool(family: Family, leak: number, count: number, random: () => number): () => MeasuredSeries {
  const runs = Array.from({ length: count }, () => measuredSeries(drawRun(family, leak * BASE, random)));
  return () => runs[Math.floor(random() * runs.length)] as MeasuredSeries;
}

const red = ({ judgement }: DecisionOutcome): boolean => judgement.verdict === "fail";
const shareOf = (ends: readonly DecisionOutcome[]) => ({ hits: ends.filter(red).length, of: ends.length });

function meanRuns(ends: readonly DecisionOutcome[]): string {
  const sum = ends.reduce((all, { candidateRuns, baseRuns }) => all + candidateRuns + baseRuns, 0);
  return (sum / ends.length).toFixed(1);
}

function growthRows(family: Family, seed: number, sizes: Sizes): string[][] {
  const random = seeded(seed);
  const clean = pool(family, 0, sizes.clean, random);
  const leaky = LEAKS.map((leak) => pool(family, leak, sizes.leaky, random));
  return LAYOUTS.map((layout) => {
    const judged = (candidate: () => MeasuredSeries, count: number, base = true) =>
      Array.from({ length: count }, () =>
        judgeUntilFinal({ baseline: inLayout(layout, clean), candidate, base: base ? clean : null }),
      );
    const found = leaky.map((candidate) => judged(candidate, Math.ceil(sizes.judged / 10)));
    return [
      family.name,
      layout,
      describeShare(shareOf(judged(clean, sizes.judged, false))),
      describeShare(shareOf(judged(clean, sizes.judged))),
      ...found.map((ends) => shortShare(shareOf(ends))),
      ...found.map(meanRuns),
    ];
  });
}

/** Whether a change that changes nothing is red where two far runs and one of the base decide. */
function redByTwo(share: number, random: () => number): boolean {
  const far = () => random() < share;
  const baseline = Array.from({ length: HISTORY }, far);
  return far() && far() && !far() && !baseline.includes(true);
}

function peakRows(share: number, seed: number, { peaks }: Sizes): string[][] {
  return LAYOUTS.map((layout) => {
    const random = seeded(seed);
    const run = () => peakOnly(Math.round((1024 + (random() < share ? 1024 : 0) + normal(random)) * MIB));
    const tries = (base: (() => MeasuredSeries) | null) => {
      let hits = 0;
      for (let i = 0; i < peaks; i += 1) {
        hits += Number(red(judgeUntilFinal({ baseline: inLayout(layout, run), candidate: run, base })));
      }
      return describeShare({ hits, of: peaks });
    };
    let hits = 0;
    for (let i = 0; i < peaks; i += 1) hits += Number(redByTwo(share, random));
    return [modeName(share), layout, tries(null), tries(run), describeShare({ hits, of: peaks })];
  });
}

/** How few runs confirm a breach far above its limit, and what that costs in false alarms. */
export const early: Part = ({ quick, seed }): Table[] => {
  const sizes = quick ? SIZES.quick : SIZES.full;
  return [
    {
      title: "Leaks far above the limit, with five baseline runs",
      note: `Runs as in the growth gate, and programs of which some runs fill a cache evenly until their end. ${sizes.judged} changes that change nothing, dealt from ${sizes.clean} runs; a tenth as many with each leak.`,
      rows: [
        [
          "runs",
          "baseline",
          "no leak: red, base not run",
          "no leak: red",
          "+10 %",
          "+50 %",
          "runs at +10 %",
          "at +50 %",
        ],
        ...WORLDS.flatMap((family, index) => growthRows(family, seed + 31 * index, sizes)),
      ],
    },
    {
      title: "Peaks with a far mode, with five baseline runs",
      note: `Peaks of 1 GiB that double in some runs, ten limits and more above the level; ${peaks(sizes)} changes that change nothing. The last column: if two runs of the change and one of the base decided, because the breach is so large.`,
      rows: [
        ["twice as high", "baseline", "red, base not run", "red", "red if two runs decided"],
        ...MODES.flatMap((share, index) => peakRows(share, seed + index, sizes)),
      ],
    },
  ];
};

function peaks(sizes: Sizes): string {
  return sizes.peaks.toLocaleString("en-US");
}
