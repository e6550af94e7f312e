import type { Measurements } from "../../src/analysis/measurements.ts";
import { DEFAULT_POLICY } from "../../src/verdict/defaults.ts";
import { judge } from "../../src/verdict/judge.ts";
import type { Judgement } from "../../src/verdict/judgement.ts";

/** A peak and, where growth is part of the story, a growth; bytes. */
export interface Drawn {
  readonly peak: number;
  readonly growth?: number;
}

export interface StoryInput {
  /** Baseline runs, by session. */
  readonly baseline: readonly (readonly Drawn[])[];
  readonly candidate: () => Drawn;
  /** A run of the base commit in the candidate's session. */
  readonly base: () => Drawn;
}

export interface StoryEnd {
  readonly judgement: Judgement;
  /** A breach was repeated until the base commit was asked for: what would be red if sessions did not matter. */
  readonly breached: boolean;
  readonly candidateRuns: number;
  readonly baseRuns: number;
}

const SESSION = "candidate";

function measurements(runs: readonly { readonly session: string; readonly drawn: Drawn }[]): Measurements {
  return {
    scenario: "story",
    fingerprint: null,
    runs: runs.map(({ session, drawn }) => ({
      session,
      commit: null,
      series: [
        {
          rank: 0,
          device: "cuda:0",
          metric: "allocated",
          peak_bytes: drawn.peak,
          ...(drawn.growth === undefined ? {} : { growth_bytes: drawn.growth }),
        },
      ],
    })),
  };
}

/** One pull request, told as the gate tells it: measure once, then exactly what the judgement asks for, until it is final. */
export function tellStory(input: StoryInput): StoryEnd {
  const baseline = input.baseline.flatMap((runs, index) => runs.map((drawn) => ({ session: `night-${index}`, drawn })));
  const stored = baseline.length;
  const candidate = [{ session: SESSION, drawn: input.candidate() }];
  let breached = false;
  for (;;) {
    const judgement = judge({
      candidate: measurements(candidate),
      baseline: measurements(baseline),
      anchor: null,
      policy: DEFAULT_POLICY,
      baseRunsPossible: true,
    });
    breached ||= judgement.needs_base_runs > 0;
    if (judgement.final) {
      return { judgement, breached, candidateRuns: candidate.length, baseRuns: baseline.length - stored };
    }
    for (let i = 0; i < judgement.needs_more_runs; i += 1) {
      candidate.push({ session: SESSION, drawn: input.candidate() });
    }
    for (let i = 0; i < judgement.needs_base_runs; i += 1) baseline.push({ session: SESSION, drawn: input.base() });
    if (candidate.length + baseline.length > stored + 60) throw new Error("the judgement never becomes final");
  }
}
