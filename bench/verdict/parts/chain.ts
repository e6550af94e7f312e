import type { MeasuredSeries } from "../../../src/analysis/measurements.ts";
import { METRIC } from "../../../src/telemetry/recording/metrics.ts";
import { measuredSeries } from "../corpus/families.ts";
import { type DrawnProgram, PROGRAM_KINDS, type ProgramKind } from "../corpus/programs.ts";
import { type DecisionOutcome, judgeUntilFinal } from "../decide.ts";
import { describeShare, type Share, shortShare } from "../intervals.ts";
import { seeded } from "../random.ts";
import type { Part } from "./part.ts";

/** Programs of a kind, and changes of each that change nothing. */
const SIZES = { quick: { programs: 24, clean: 10 }, full: { programs: 240, clean: 10 } } as const;
/** Of a session each. */
const HISTORY = 5;
const EFFECTS = [1.02, 1.05] as const;

interface Change {
  readonly end: DecisionOutcome;
  /** The change of the peak is above the smallest that is judged. */
  readonly judgeable: boolean;
}

/** One change of a program whose memory becomes `effect` times as large. */
function change({ metric, run }: DrawnProgram, effect: number, random: () => number): Change {
  const measured = (times: number): MeasuredSeries =>
    measuredSeries(
      run(random).map((bytes) => Math.round(times * bytes)),
      metric,
    );
  const baseline = Array.from({ length: HISTORY }, () => measured(1));
  const highest = Math.max(...baseline.map(({ peak_bytes: peak }) => peak ?? 0));
  return {
    end: judgeUntilFinal({
      baseline: baseline.map((one) => [one]),
      candidate: () => measured(effect),
      base: () => measured(1),
    }),
    judgeable: (effect - 1) * highest > METRIC[metric].peakFloorBytes,
  };
}

interface Judged {
  readonly name: string;
  readonly clean: readonly Change[];
  /** By effect. */
  readonly changed: readonly (readonly Change[])[];
}

function judgeKind(kind: ProgramKind, seed: number, sizes: (typeof SIZES)["quick" | "full"]): Judged {
  const random = seeded(seed);
  const programs = Array.from({ length: sizes.programs }, () => kind.draw(random));
  return {
    name: kind.name,
    clean: programs.flatMap((program) => Array.from({ length: sizes.clean }, () => change(program, 1, random))),
    changed: EFFECTS.map((effect) => programs.map((program) => change(program, effect, random))),
  };
}

const shareOf = (changes: readonly Change[], verdict: "fail" | "warn"): Share => ({
  hits: changes.filter(({ end }) => end.judgement.verdict === verdict).length,
  of: changes.length,
});

function row({ name, clean, changed }: Judged): readonly string[] {
  const runs = clean.reduce((sum, { end }) => sum + end.candidateRuns + end.baseRuns, 0);
  return [
    name,
    describeShare(shareOf(clean, "fail")),
    shortShare(shareOf(clean, "warn")),
    ...changed.flatMap((changes) => {
      const judgeable = changes.filter((one) => one.judgeable);
      return [describeShare(shareOf(changes, "fail")), shortShare(shareOf(judgeable, "fail"))];
    }),
    (runs / clean.length).toFixed(2),
  ];
}

/** The whole chain, from samples to verdict, on programs of many kinds. */
export const chain: Part = ({ quick, seed }) => {
  const sizes = quick ? SIZES.quick : SIZES.full;
  const kinds = PROGRAM_KINDS.map((kind, index) => judgeKind(kind, seed + 101 * index, sizes));
  const all: Judged = {
    name: "all",
    clean: kinds.flatMap(({ clean }) => clean),
    changed: EFFECTS.map((_, at) => kinds.flatMap(({ changed }) => changed[at] ?? [])),
  };
  return [
    {
      title: "The whole chain, from samples to verdict",
      note: `${sizes.programs} programs of each kind with levels, noise and pace drawn at random; 600 samples a run, every run drawn again. ${HISTORY} baseline runs of a session each. ${sizes.clean} changes of a program change nothing, one makes it 2 % larger and one 5 %. A change of a peak below its floor (2 MiB of allocated memory, 8 MiB of the host's) is not judged; the columns beside leave these out.`,
      rows: [
        [
          "programs",
          "no change: red",
          "warned",
          "+2 %: red",
          "above the floor",
          "+5 %: red",
          "above the floor",
          "runs per clean change",
        ],
        ...[...kinds, all].map(row),
      ],
    },
  ];
};
