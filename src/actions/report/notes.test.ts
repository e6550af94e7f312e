import { describe, expect, it } from "vitest";
import { doubtNotes, type RunRecord, recordNotes } from "./notes.ts";

const record = (over: Partial<RunRecord> = {}): RunRecord => ({
  runId: 7,
  conclusion: "success",
  jobs: { failed: 0, all: 2 },
  untrusted: false,
  ...over,
});

describe("where a verdict comes from", () => {
  it("the record's note is absent for a run of this repository whose record matches its verdict", () => {
    expect(recordNotes(record(), "pass")).toEqual([]);
    expect(recordNotes(record({ conclusion: "failure" }), "fail")).toEqual([]);
  });

  it("the record's note is present when GitHub's record contradicts the verdict", () => {
    expect(recordNotes(record({ conclusion: "failure" }), "pass")).toEqual([
      "The measurements result in pass, but GitHub recorded run 7 as failure.",
    ]);
    expect(recordNotes(record({ jobs: { failed: 1, all: 2 } }), "warn")[0]).toContain(
      "1 of its 2 jobs did not succeed",
    );
  });

  it("the record's note is always present for an untrusted run", () => {
    expect(recordNotes(record({ untrusted: true }), "pass")).toEqual([
      "The numbers were reported by a run of the fork. GitHub recorded run 7 as success.",
    ]);
    expect(recordNotes(record({ untrusted: true, conclusion: "timed_out" }), "pass")[0]).toContain("contradicts this");
    expect(recordNotes(record({ untrusted: true, conclusion: null }), "fail")[0]).toContain("not finished");
  });

  it("the record's note does not quote an unknown conclusion", () => {
    expect(recordNotes(record({ untrusted: true, conclusion: "<b>@x" }), "fail")[0]).toContain("as unknown");
  });
});

describe("what was not believed", () => {
  it("distrusted claims give one note for each kind, and none without a doubt", () => {
    expect(doubtNotes({ refused: [], unaccepted: 0, embellished: 0 })).toEqual([]);
    expect(
      doubtNotes({ refused: ["artifact 7 has no digest", "artifact 8"], unaccepted: 1, embellished: 1 }),
    ).toHaveLength(3);
    expect(doubtNotes({ refused: ["artifact 7 is about b, not a"], unaccepted: 0, embellished: 0 })[0]).toMatch(
      /^1 artifact named .* counts as a missing job: artifact 7 is about b, not a\.$/,
    );
  });
});
