import { MIB } from "../../../src/core/units.ts";
import { judgeUntilFinal, peakOnly } from "../decide.ts";
import { describeShare, type Share, shortShare } from "../intervals.ts";
import { normal, seeded } from "../random.ts";
import type { Part } from "./part.ts";

/** Changes judged per cell: without an effect, and with one. */
const ROUNDS = { quick: { clean: 300, changed: 100 }, full: { clean: 10_000, changed: 2000 } } as const;
/** Standard deviation of the level of a session, and of a run within it, shares of the level. */
const OFFSETS = [0.003, 0.01, 0.02] as const;
const WITHIN = 0.002;
/** Sessions of the baseline, and runs of each. */
const LAYOUTS = [
  [1, 10],
  [2, 5],
  [5, 2],
  [10, 1],
] as const;

interface JudgedShare extends Share {
  /** Changes for which the base commit was run. */
  readonly asked: number;
  /** Mean runs a change costs. */
  readonly runs: number;
}

/**
 * Changes of a program whose peaks differ by session; each change is measured in a new one.
 * @param base whether the base can be run there
 */
function tell(
  [sessions, each]: (typeof LAYOUTS)[number],
  offset: number,
  how: { readonly effect: number; readonly base: boolean; readonly count: number; readonly seed: number },
): JudgedShare {
  const random = seeded(how.seed);
  const night = () => 1024 * MIB * (1 + offset * normal(random));
  const run = (level: number) => peakOnly(Math.round(level * (1 + WITHIN * normal(random))));
  let [hits, asked, runs] = [0, 0, 0];
  for (let i = 0; i < how.count; i += 1) {
    const today = night();
    const baseline = Array.from({ length: sessions }, () => {
      const level = night();
      return Array.from({ length: each }, () => run(level));
    });
    const base = how.base ? () => run(today) : null;
    const end = judgeUntilFinal({ baseline, candidate: () => run(today * how.effect), base });
    hits += Number(end.judgement.verdict === "fail");
    asked += Number(end.baseRuns > 0);
    runs += end.candidateRuns + end.baseRuns;
  }
  return { hits, of: how.count, asked, runs: runs / how.count };
}

/** Machines whose level differs by session: the purpose of the base re-run. */
export const sessions: Part = ({ quick, seed }) => {
  const rounds = quick ? ROUNDS.quick : ROUNDS.full;
  const rows = OFFSETS.flatMap((offset, o) =>
    LAYOUTS.map((layout, l) => {
      const judged = (effect: number, base: boolean) => {
        const count = effect === 1 ? rounds.clean : rounds.changed;
        return tell(layout, offset, { effect, base, count, seed: seed + 1000 * o + 100 * l + Math.round(50 * effect) });
      };
      const [without, clean] = [judged(1, false), judged(1, true)];
      return [
        `${100 * offset} %`,
        `${layout[0]} × ${layout[1]}`,
        describeShare(without),
        describeShare(clean),
        shortShare({ hits: clean.asked, of: clean.of }),
        ...[1.02, 1.05].map((effect) => `${shortShare(judged(effect, true))} / ${shortShare(judged(effect, false))}`),
        clean.runs.toFixed(2),
      ];
    }),
  );
  return [
    {
      title: "Peak gate when sessions differ",
      note: `Every session has a level of its own; runs of one session differ by 0.2 %. Baseline: sessions × runs; ${rounds.clean} changes that change nothing, ${rounds.changed} with each effect. Power: with the base run again in the change's session / without.`,
      rows: [
        [
          "sessions differ by",
          "baseline",
          "no change: red, base not run",
          "no change: red",
          "no change: base run again",
          "+2 %",
          "+5 %",
          "runs per clean change",
        ],
        ...rows,
      ],
    },
  ];
};
