/** Steps over time: `steps[i]` is valid from `timeNs[i]` until the next entry. Ascending; neighbours differ. */
export interface StepTimeline {
  readonly timeNs: Float64Array;
  readonly steps: Float64Array;
  /** End of the last step: it is assumed to last as long as the longest earlier one. */
  readonly untilNs: number;
}

/** Minimum duration of the last step, nanoseconds. */
const MIN_HOLD_NS = 2e9;

/** One timeline of rows and single steps of one process, without rows that have no step. Null without any. */
export function stepTimeline(
  parts: readonly { readonly timeNs: Float64Array; readonly steps: Float64Array }[],
): StepTimeline | null {
  const entries: { readonly timeNs: number; readonly step: number }[] = [];
  for (const { timeNs, steps } of parts) {
    for (const [i, step] of steps.entries()) if (!Number.isNaN(step)) entries.push({ timeNs: timeNs[i]!, step });
  }
  entries.sort((a, b) => a.timeNs - b.timeNs || a.step - b.step);
  const changes = entries.filter(({ step }, i) => i === 0 || step !== entries[i - 1]!.step);
  const last = changes.at(-1);
  if (last === undefined) return null;
  let longest = MIN_HOLD_NS;
  for (let i = 1; i < changes.length; i++) longest = Math.max(longest, changes[i]!.timeNs - changes[i - 1]!.timeNs);
  return {
    timeNs: Float64Array.from(changes, ({ timeNs }) => timeNs),
    steps: Float64Array.from(changes, ({ step }) => step),
    untilNs: last.timeNs + longest,
  };
}

/** The current step at each of the ascending times; NaN before the first and after the end of the last. */
export function stepsAt(timeline: StepTimeline, timeNs: Float64Array): Float64Array {
  const steps = new Float64Array(timeNs.length).fill(Number.NaN);
  let at = -1;
  for (let i = 0; i < timeNs.length && timeNs[i]! <= timeline.untilNs; i++) {
    while (at + 1 < timeline.timeNs.length && timeline.timeNs[at + 1]! <= timeNs[i]!) at++;
    if (at >= 0) steps[i] = timeline.steps[at]!;
  }
  return steps;
}
