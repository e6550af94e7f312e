import { describe, expect, it } from "vitest";
import type { TraceAnnotation } from "../model/snapshot.ts";
import { stepEnds } from "./steps.ts";

const scope = (name: string, ...ends: number[]): TraceAnnotation[] =>
  ends.flatMap((timeUs) => [
    { name, stage: "START" as const, device: 0, timeUs: timeUs - 1 },
    { name, stage: "END" as const, device: 0, timeUs },
  ]);

describe("stepEnds", () => {
  it("uses the optimizer that steps most often, so that two optimizers do not count twice", () => {
    const ends = stepEnds([
      ...scope("Optimizer.step#Critic.step", 30, 10, 20),
      ...scope("Optimizer.step#Actor.step", 12),
    ]);
    expect([...ends]).toEqual([10, 20, 30]);
  });

  it("uses the profiler's numbered steps", () => {
    expect([...stepEnds([...scope("ProfilerStep#1", 5), ...scope("ProfilerStep#2", 9)])]).toEqual([5, 9]);
  });

  it("stepEnds is empty without annotated steps", () => {
    expect(stepEnds(scope("forward", 1, 2))).toHaveLength(0);
  });
});
