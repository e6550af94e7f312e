import type { MeasuredSeries } from "../../../src/analysis/measurements.ts";
import { BASE, drawRun, FAMILIES, type Family, measuredSeries } from "../corpus/families.ts";
import { type DecisionOutcome, judgeUntilFinal } from "../decide.ts";
import { describeShare, type Share, shortShare } from "../intervals.ts";
import { normal, seeded } from "../random.ts";
import type { Part } from "./part.ts";

/** Runs of each pool, and changes judged with them. */
const SIZES = { quick: { pool: 150, judged: 100 }, full: { pool: 800, judged: 1000 } } as const;
const HISTORY = 10;
/** Median growth of a leaking run, a share of the base. */
const LEAKS = [0.03, 0.1] as const;

/** By how much the rate of a leak differs from run to run: a factor with a median of 1. */
const RATES: readonly { readonly name: string; readonly draw: (random: () => number) => number }[] = [
  { name: "the same", draw: () => 1 },
  { name: "busy machine", draw: (random) => 0.4 + 1.2 * random() },
  { name: "lognormal .5", draw: (random) => Math.exp(0.5 * normal(random)) },
  { name: "lognormal 1", draw: (random) => Math.exp(normal(random)) },
];

const ends = (pool: readonly MeasuredSeries[], clean: readonly MeasuredSeries[], of: number, seed: number) => {
  const random = seeded(seed);
  const dealt = (runs: readonly MeasuredSeries[]) => () => runs[Math.floor(random() * runs.length)] as MeasuredSeries;
  const accepted = dealt(clean);
  return Array.from({ length: of }, () =>
    judgeUntilFinal({
      baseline: Array.from({ length: HISTORY }, () => [accepted()]),
      candidate: dealt(pool),
      base: accepted,
    }),
  );
};

const share = (judged: readonly DecisionOutcome[], verdict: string): Share => ({
  hits: judged.filter(({ judgement }) => judgement.verdict === verdict).length,
  of: judged.length,
});
const meanRuns = (judged: readonly DecisionOutcome[]): string =>
  (judged.reduce((sum, { candidateRuns, baseRuns }) => sum + candidateRuns + baseRuns, 0) / judged.length).toFixed(2);

/** Growth alone decides: the peak may come from something else. */
const withoutPeak = (series: MeasuredSeries): MeasuredSeries => ({ ...series, peak_bytes: null });

function judgedFamily(family: Family, seed: number, { pool, judged }: (typeof SIZES)["quick" | "full"]) {
  const random = seeded(seed);
  const runs = (leak: number, rate: (random: () => number) => number) =>
    Array.from({ length: pool }, () =>
      withoutPeak(measuredSeries(drawRun(family, leak * rate(random) * BASE, random))),
    );
  const clean = runs(0, () => 0);
  const same = ends(clean, clean, 3 * judged, seed + 1);
  const leaky = LEAKS.flatMap((leak) =>
    RATES.map(({ draw }, k) => ends(runs(leak, draw), clean, judged, seed + 2 + k)),
  );
  return { family: family.name, same, leaky };
}

/** Leaks whose rate differs between the runs of one change. */
export const rates: Part = ({ quick, seed }) => {
  const sizes = quick ? SIZES.quick : SIZES.full;
  const families = FAMILIES.map((family, k) => judgedFamily(family, seed + 53 * k, sizes));
  const row = (
    name: string,
    same: readonly DecisionOutcome[],
    leaky: readonly (readonly DecisionOutcome[])[],
    of: typeof shortShare,
  ) => [
    name,
    describeShare(share(same, "fail")),
    shortShare(share(same, "warn")),
    meanRuns(same),
    ...leaky.map(
      (judged) => `${of(share(judged, "fail"))} (${shortShare(share(judged, "warn"))}; ${meanRuns(judged)})`,
    ),
  ];
  const all = families.flatMap(({ same }) => same);
  const leaks = LEAKS.flatMap((_, l) =>
    RATES.map((_, r) => families.flatMap(({ leaky }) => leaky[l * RATES.length + r] ?? [])),
  );
  return [
    {
      title: "Leaks whose rate differs from run to run",
      note: `Runs as in the growth gate, of which the peak is not known; ${HISTORY} baseline runs of a session each, base runs possible; by the median growth and its factor in each run. Red (warned; runs of the change and of the base).`,
      rows: [
        [
          "runs",
          "no leak: red",
          "no leak: warned",
          "no leak: runs",
          ...LEAKS.flatMap((leak) => RATES.map(({ name }) => `+${100 * leak} %, ${name}`)),
        ],
        ...families.map(({ family, same, leaky }) => row(family, same, leaky, shortShare)),
        row("all", all, leaks, describeShare),
      ],
    },
  ];
};
