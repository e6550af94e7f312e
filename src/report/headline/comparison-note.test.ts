import { describe, expect, it } from "vitest";
import type { FingerprintDifference } from "../../verdict/model/judgement.ts";
import { sampleJudgement, sampleScenario } from "../testing/sample-report.ts";
import { comparisonNote, sideNotes } from "./sentence.ts";

const noteOf = (...fingerprint: FingerprintDifference[]) =>
  comparisonNote(sampleScenario("pass", { judgement: sampleJudgement("pass", { fingerprint }) }));

const command = { field: "command", kind: "context", baseline: "python3 a.py --steps 200", candidate: "x" } as const;
const steps = { field: "steps", kind: "context", baseline: 200, candidate: 100 } as const;

describe("the note of a comparison", () => {
  it("names the command that made the baseline, where it differs", () => {
    expect(noteOf(command)).toBe("compared with a baseline of another command: python3 a.py --steps 200");
    expect(noteOf(command, steps)).toBe(
      "compared with a baseline of another command: python3 a.py --steps 200 (200 steps there, 100 here)",
    );
  });

  it("names the steps where only they differ", () => {
    expect(noteOf(steps)).toBe("compared with a baseline of another length: 200 steps there, 100 here");
  });

  it("comparisonNote is null where neither command nor steps differ", () => {
    expect(noteOf({ field: "kernel", kind: "context", baseline: "1", candidate: "2" })).toBeNull();
    expect(comparisonNote(sampleScenario("error"))).toBeNull();
  });

  it("changed settings of memory stand below a failure, and not below a pass", () => {
    const fingerprint: FingerprintDifference[] = [
      { field: "transparent_hugepages", kind: "context", baseline: "madvise", candidate: "always" },
      { field: "memory_limit_bytes", kind: "context", baseline: 2 ** 30, candidate: "none" },
    ];
    const notesOf = (verdict: "fail" | "pass") =>
      sideNotes(sampleScenario(verdict, { judgement: sampleJudgement(verdict, { fingerprint }) }));
    expect(notesOf("fail")).toEqual([
      "transparent hugepages: madvise in the baseline, always here",
      "memory limit: 1.00 GiB in the baseline, none here",
    ]);
    expect(notesOf("pass").join()).not.toContain("hugepages");
  });
});
