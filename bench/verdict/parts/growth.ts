import type { MeasuredSeries } from "../../../src/analysis/measurements.ts";
import { BASE, drawRun, FAMILIES, type Family, measuredSeries } from "../corpus/families.ts";
import { type DecisionOutcome, judgeUntilFinal } from "../decide.ts";
import { describeShare, type Share, shortShare } from "../intervals.ts";
import { seeded } from "../random.ts";
import { cpythonR, mannKendall, stormlogR2, tracemlAny } from "../rules/published.ts";
import type { Rule } from "../rules/rule.ts";
import { stormlogTemporal } from "../rules/stormlog-temporal.ts";
import type { Part } from "./part.ts";

/** Leaked over the run, shares of the base. */
const LEAKS = [0.02, 0.05, 0.1, 0.5] as const;
/** Runs of every family, without a leak and with each; changes judged with them; baseline runs of a change. */
const SIZES = {
  quick: { clean: 200, leaky: 60, judged: 300 },
  full: { clean: 1500, leaky: 300, judged: 3000 },
} as const;
const HISTORY = 10;

const WITHIN: readonly Rule[] = [stormlogR2, stormlogTemporal, tracemlAny, mannKendall, cpythonR];

/** One run: what the gate stores of it, and the result of each rule within a run. */
interface Run {
  readonly series: MeasuredSeries;
  readonly alarms: readonly boolean[];
}

/** A whole run through the product's own analysis. */
function measured(family: Family, leak: number, random: () => number): Run {
  const bytes = drawRun(family, leak * BASE, random);
  return { series: measuredSeries(bytes), alarms: WITHIN.map((rule) => rule.judge(bytes, "level") === "leak") };
}

/** Takes runs of a pool in a random order, none of them twice within one change. */
function dealer(pool: readonly Run[], random: () => number): () => MeasuredSeries {
  const dealt = new Set<number>();
  return () => {
    for (;;) {
      const index = Math.floor(random() * pool.length);
      if (dealt.has(index)) continue;
      dealt.add(index);
      return (pool[index] as Run).series;
    }
  };
}

/** Which measurements of a change's runs count: all, or only the growth. */
type Known = "all" | "growth";

interface Judging {
  readonly clean: readonly Run[];
  readonly changed: readonly Run[];
  readonly known?: Known;
  /** Whether the accepted code can be run again. */
  readonly base?: boolean;
}

function tell({ clean, changed, known = "all", base = true }: Judging, random: () => number): DecisionOutcome {
  const accepted = dealer(clean, random);
  const dealt = changed === clean ? accepted : dealer(changed, random);
  return judgeUntilFinal({
    baseline: Array.from({ length: HISTORY }, () => [accepted()]),
    candidate: known === "all" ? dealt : () => growthOf(dealt()),
    base: base ? accepted : null,
  });
}

function growthOf({ rank, device, metric, growth_bytes = null }: MeasuredSeries): MeasuredSeries {
  return { rank, device, metric, peak_bytes: null, growth_bytes };
}

const share = (ends: readonly DecisionOutcome[], hit: (end: DecisionOutcome) => boolean): Share => ({
  hits: ends.filter(hit).length,
  of: ends.length,
});
const red = ({ judgement }: DecisionOutcome): boolean => judgement.verdict === "fail";
interface FamilyResult {
  readonly gate: readonly string[];
  readonly within: readonly string[];
}

function tryFamily(family: Family, seed: number, sizes: (typeof SIZES)["quick" | "full"]): FamilyResult {
  const random = seeded(seed);
  const clean = Array.from({ length: sizes.clean }, () => measured(family, 0, random));
  const leaky = LEAKS.map((leak) => Array.from({ length: sizes.leaky }, () => measured(family, leak, random)));
  const judged = (count: number, judging: Omit<Judging, "clean">) =>
    Array.from({ length: count }, () => tell({ clean, ...judging }, random));
  const third = Math.ceil(sizes.judged / 3);
  const same = judged(sizes.judged, { changed: clean });
  const alone = judged(sizes.judged, { changed: clean, base: false });
  const growthAlone = judged(sizes.judged, { changed: clean, known: "growth" });
  const found = leaky.map(
    (changed) => [judged(third, { changed }), judged(third, { changed, known: "growth" })] as const,
  );
  const runs = same.reduce((sum, { candidateRuns, baseRuns }) => sum + candidateRuns + baseRuns, 0) / same.length;
  const alarmed = (pool: readonly Run[], rule: number): Share => ({
    hits: pool.filter(({ alarms }) => alarms[rule]).length,
    of: pool.length,
  });
  return {
    gate: [
      family.name,
      describeShare(share(alone, red)),
      describeShare(share(same, red)),
      describeShare(share(growthAlone, red)),
      shortShare(share(same, ({ judgement }) => judgement.verdict === "warn")),
      ...found.map(([all, onlyGrowth]) => `${shortShare(share(all, red))} (${shortShare(share(onlyGrowth, red))})`),
      runs.toFixed(2),
    ],
    within: [
      family.name,
      ...WITHIN.map((_, rule) =>
        [clean, ...leaky.slice(0, 3)].map((pool) => shortShare(alarmed(pool, rule)).replace(" %", "")).join(" · "),
      ),
    ],
  };
}

/** Whole runs of programs without a leak and with one, through analysis, measurements and verdict. */
export const growth: Part = ({ quick, seed }) => {
  const sizes = quick ? SIZES.quick : SIZES.full;
  const results = FAMILIES.map((family, index) => tryFamily(family, seed + 31 * index, sizes));
  const percent = LEAKS.map((leak) => `+${100 * leak} %`);
  return [
    {
      title: "Growth gate on runs that keep nothing, and with a leak in them",
      note: `Runs of 60 s at 10 Hz over 60 iterations on 1 GiB, analysed, measured and judged like any other (peak, growth and class); ${HISTORY} baseline runs of a session each, ${sizes.judged} changes (a third with a leak), dealt from ${sizes.clean} runs without and ${sizes.leaky} with each leak. Power: red; in brackets by growth alone, as if the peak came from something else.`,
      rows: [
        [
          "runs",
          "no leak: red, base not run",
          "no leak: red",
          "no leak: red by growth alone",
          "no leak: warned",
          ...percent,
          "runs per clean change",
        ],
        ...results.map(({ gate }) => gate),
      ],
    },
    {
      title: "The same runs, each by a rule of its own",
      note: `Alarms in percent of runs: without a leak · with one of ${percent.slice(0, 3).join(" · ")} of the base.`,
      rows: [["runs", ...WITHIN.map(({ name }) => name)], ...results.map(({ within }) => within)],
    },
  ];
};
