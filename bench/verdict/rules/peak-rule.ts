/** One pull request as a peak rule sees it. All values are peaks in bytes, one number a run. */
interface PeakTry {
  /** Runs of the accepted code, oldest first. */
  readonly baseline: readonly number[];
  /** Measures the change once more. */
  readonly run: () => number;
  /** Measures the accepted code once more, in the session of the change. */
  readonly base: () => number;
}

interface PeakAnswer {
  readonly alarm: boolean;
  /** Runs that this result cost: of the change, and of the accepted code where the rule requests them. */
  readonly runs: number;
}

export interface PeakRule {
  readonly name: string;
  /** Baseline runs it is given. */
  readonly history: number;
  readonly judge: (input: PeakTry) => PeakAnswer;
}

/** `count` runs of the change. */
function take(run: () => number, count: number): readonly number[] {
  return Array.from({ length: count }, run);
}

/** A rule that looks at one run of the change. */
export function oneRunRule(
  name: string,
  history: number,
  alarms: (baseline: readonly number[], candidate: number) => boolean,
): PeakRule {
  return { name, history, judge: ({ baseline, run }) => ({ alarm: alarms(baseline, run()), runs: 1 }) };
}

/** A rule that looks at several runs of the change at once. */
export function sampleRule(
  name: string,
  history: number,
  runs: number,
  alarms: (baseline: readonly number[], candidate: readonly number[]) => boolean,
): PeakRule {
  return { name, history, judge: ({ baseline, run }) => ({ alarm: alarms(baseline, take(run, runs)), runs }) };
}
