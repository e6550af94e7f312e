import type { MeasuredSeries } from "../../../src/analysis/measurements.ts";
import { MIB } from "../../../src/core/units.ts";
import { readReruns } from "../corpus/reruns.ts";
import { judgeUntilFinal, peakOnly } from "../decide.ts";
import { describeShare, shortShare } from "../intervals.ts";
import { seeded } from "../random.ts";
import type { Part } from "./part.ts";

const ROUNDS = { quick: { real: 10, drawn: 300 }, full: { real: 100, drawn: 5000 } } as const;
/** Baseline runs, each of a session of its own. */
const HISTORY = 10;
const MIN_RUNS = 6;
const EFFECT = 1.02;
const LEVEL = 1024 * MIB;

/** A program whose reserved memory differs between runs of the same code; its allocated memory does not matter here. */
interface Program {
  readonly name: string;
  /** Baseline and any further run of one change, in their order. */
  readonly deal: (random: () => number) => { readonly baseline: readonly Run[]; readonly next: () => Run };
}

interface Run {
  readonly allocated: number;
  readonly reserved: number;
}

/** Runs of one group of identical code in a random order, then drawn from the group again and again. */
function realProgram(name: string, runs: readonly Run[]): Program {
  return {
    name,
    deal: (random) => {
      const order = [...runs].map((run) => ({ run, key: random() })).sort((a, b) => a.key - b.key);
      const baseline = order.slice(0, Math.min(HISTORY, runs.length - 1)).map(({ run }) => run);
      let first: Run | undefined = order[baseline.length]?.run;
      const any = () => runs[Math.floor(random() * runs.length)] as Run;
      return {
        baseline,
        next: () => {
          const run = first ?? any();
          first = undefined;
          return run;
        },
      };
    },
  };
}

/** Reserved peaks in whole quanta above the level: often none, the more the seldomer. */
function quanta(mib: number, more: number): Program {
  return {
    name: `quanta of ${mib} MiB, one more in ${Math.round(100 * more)} % of runs`,
    deal: (random) => {
      const next = (): Run => {
        let steps = 0;
        while (steps < 4 && random() < more) steps += 1;
        return { allocated: 0.8 * LEVEL, reserved: LEVEL + steps * mib * MIB };
      };
      return { baseline: Array.from({ length: HISTORY }, next), next };
    },
  };
}

interface Outcomes {
  yellow: number;
  red: number;
  alarmed: number;
  runs: number;
  of: number;
}

/** Changes of the programs, their reserved memory times `effect`, as the policy judges them by default. */
function judged(programs: readonly Program[], effect: number, base: boolean, rounds: number, seed: number): Outcomes {
  const random = seeded(seed);
  const sum: Outcomes = { yellow: 0, red: 0, alarmed: 0, runs: 0, of: 0 };
  const measured = ({ allocated, reserved }: Run): readonly MeasuredSeries[] => [
    peakOnly(allocated, "allocated"),
    peakOnly(reserved, "reserved"),
  ];
  for (const { deal } of programs) {
    let here = 0;
    for (let round = 0; round < rounds; round += 1) {
      const { baseline, next } = deal(random);
      const { judgement, candidateRuns, baseRuns } = judgeUntilFinal({
        baseline: baseline.map((run) => [measured(run)]),
        candidate: () => {
          const { allocated, reserved } = next();
          return measured({ allocated, reserved: Math.round(effect * reserved) });
        },
        base: base ? () => measured(next()) : null,
      });
      here += Number(judgement.verdict === "warn");
      sum.red += Number(judgement.verdict === "fail");
      sum.runs += candidateRuns + baseRuns;
    }
    sum.yellow += here;
    sum.alarmed += Number(here > 0);
    sum.of += rounds;
  }
  return sum;
}

/** Warnings: metrics that do not gate, on changes that change nothing. */
export const warnings: Part = ({ data, quick, seed }) => {
  const rounds = quick ? ROUNDS.quick : ROUNDS.full;
  const groups = readReruns(data, MIN_RUNS).flatMap(({ name, allocated, reserved }) =>
    reserved.length === allocated.length
      ? [
          realProgram(
            name,
            allocated.map((bytes, i) => ({ allocated: bytes, reserved: reserved[i] ?? Number.NaN })),
          ),
        ]
      : [],
  );
  const sets = [
    { name: `real, ${groups.length} groups`, programs: groups, each: rounds.real },
    ...[2, 20].flatMap((mib) =>
      [0.05, 0.24].map((more) => {
        const program = quanta(mib, more);
        return { name: program.name, programs: [program], each: rounds.drawn };
      }),
    ),
  ];
  return [
    {
      title: "Warnings on clean changes",
      note: `Allocated memory gates, reserved memory warns, ${HISTORY} baseline runs of a session each (real groups: up to so many, runs shuffled). Real: runs of identical code (modded-nanogpt), ${rounds.real} changes a group; drawn: reserved peaks of 1 GiB in quanta, ${rounds.drawn} changes a row. +2 %: of reserved memory alone.`,
      rows: [
        [
          "runs",
          "base run again",
          "no change: yellow",
          "groups with a yellow",
          "no change: red",
          "runs per clean change",
          "+2 %: yellow",
          "runs at +2 %",
        ],
        ...sets.flatMap(({ name, programs, each }, k) =>
          [true, false].map((base) => {
            const clean = judged(programs, 1, base, each, seed + 59 * k);
            const changed = judged(programs, EFFECT, base, each, seed + 59 * k + 1);
            return [
              name,
              base ? "yes" : "no",
              describeShare({ hits: clean.yellow, of: clean.of }),
              `${clean.alarmed} of ${programs.length}`,
              shortShare({ hits: clean.red, of: clean.of }),
              (clean.runs / clean.of).toFixed(2),
              describeShare({ hits: changed.yellow, of: changed.of }),
              (changed.runs / changed.of).toFixed(2),
            ];
          }),
        ),
      ],
    },
  ];
};
