import { groupBy } from "../../core/group-by.ts";
import type { TraceAnnotation } from "../model/snapshot.ts";

/** Ends of steps, microseconds: of the optimizer that steps most often, as a second one would double the count. */
export function stepEnds(annotations: readonly TraceAnnotation[]): Float64Array {
  // Scopes that occur once a step: those of PyTorch's optimizers, and the profiler's step.
  const ended = annotations.filter(
    ({ name, stage }) => stage === "END" && /^(?:Optimizer\.step#|ProfilerStep#)/.test(name),
  );
  // The profiler numbers its steps.
  const scopes = groupBy(ended, ({ name }) => (name.startsWith("ProfilerStep#") ? "ProfilerStep#" : name));
  const [most = []] = [...scopes.values()].sort((a, b) => b.length - a.length);
  return Float64Array.from(most, ({ timeUs }) => timeUs).sort();
}
