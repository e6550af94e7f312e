import { describe, expect, it } from "vitest";
import type { FingerprintDifference } from "../../verdict/judgement.ts";
import { sampleJudgement, sampleScenario } from "../testing/sample-report.ts";
import { comparisonNote } from "./comparison-note.ts";

const noteOf = (...fingerprint: FingerprintDifference[]) =>
  comparisonNote(sampleScenario("pass", { judgement: sampleJudgement("pass", { fingerprint }) }));

const command = { field: "command", kind: "context", baseline: "python3 a.py --steps 200", candidate: "x" } as const;
const steps = { field: "steps", kind: "context", baseline: 200, candidate: 100 } as const;

describe("the note of a comparison", () => {
  it("names the command that made the baseline, where it differs", () => {
    expect(noteOf(command)).toBe("the baseline was made by: python3 a.py --steps 200");
    expect(noteOf(command, steps)).toBe("the baseline was made by: python3 a.py --steps 200 (200 steps, here 100)");
  });

  it("names the steps where only they differ", () => {
    expect(noteOf(steps)).toBe("the baseline was made by runs of another length: 200 steps, here 100");
  });

  it("is absent where neither differs", () => {
    expect(noteOf({ field: "kernel", kind: "context", baseline: "1", candidate: "2" })).toBeNull();
    expect(comparisonNote(sampleScenario("error"))).toBeNull();
  });
});
