/** The current step over time: `steps[i]` holds from `timeNs[i]` until the next entry. Ascending in time; neighbours differ. */
export interface StepTimeline {
  readonly timeNs: Float64Array;
  readonly steps: Float64Array;
  /** The last step holds until here: it may have taken as long as the longest before it, and what comes later is no part of it. */
  readonly untilNs: number;
}

/** The last step is held for this long at least, nanoseconds. */
const MIN_HOLD_NS = 2e9;

/**
 * One timeline of rows and single sightings of one process. Rows without a step are left out; null when nothing is left.
 */
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

/** The step that was current at each of the ascending moments; NaN before the first is known and after the last is over. */
export function stepsAt(timeline: StepTimeline, timeNs: Float64Array): Float64Array {
  const steps = new Float64Array(timeNs.length).fill(Number.NaN);
  let at = -1;
  for (let i = 0; i < timeNs.length && timeNs[i]! <= timeline.untilNs; i++) {
    while (at + 1 < timeline.timeNs.length && timeline.timeNs[at + 1]! <= timeNs[i]!) at++;
    if (at >= 0) steps[i] = timeline.steps[at]!;
  }
  return steps;
}
