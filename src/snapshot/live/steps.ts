import type { Annotation } from "../model/snapshot.ts";

/** Scopes that occur once a step: those of PyTorch's optimizers, and the profiler's step. */
const STEP_SCOPE = /^(?:Optimizer\.step#|ProfilerStep#)/;

/** Ends of steps, microseconds: of the optimizer that steps most often, as a second one would double the count. */
export function stepEnds(annotations: readonly Annotation[]): Float64Array {
  const ends = new Map<string, number[]>();
  for (const { name, stage, timeUs } of annotations) {
    if (stage !== "END" || !STEP_SCOPE.test(name)) continue;
    // The profiler numbers its steps.
    const scope = name.startsWith("ProfilerStep#") ? "ProfilerStep#" : name;
    const own = ends.get(scope);
    if (own === undefined) ends.set(scope, [timeUs]);
    else own.push(timeUs);
  }
  let most: number[] = [];
  for (const own of ends.values()) if (own.length > most.length) most = own;
  return Float64Array.from(most).sort();
}

/** Number of steps that ended by `timeUs`. */
export function stepAt(ends: Float64Array, timeUs: number): number {
  let low = 0;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ends[middle] as number) <= timeUs) low = middle + 1;
    else high = middle;
  }
  return low;
}
