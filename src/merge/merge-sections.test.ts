import { describe, expect, it } from "vitest";
import type { Verdict } from "../report/model/gate-report.ts";
import type { Section } from "../report/model/section.ts";
import { sampleReport } from "../report/testing/sample-report.ts";
import { parseExpected } from "./merge-legs.ts";
import { answerOfSections, type SectionsRequest, uniteSections } from "./merge-sections.ts";

const section = (leg: string | null, verdict: Verdict, session = `of ${leg}`): Section => ({
  gateId: "default",
  leg,
  headSha: null,
  runAttempt: 1,
  bundleArtifact: null,
  timelineArtifact: null,
  report: sampleReport(verdict, { session }),
});

function answer(given: readonly Section[], more: Partial<SectionsRequest> = {}) {
  return answerOfSections({
    given,
    united: uniteSections(given),
    expected: null,
    refused: [],
    recorded: null,
    unjudged: "warn",
    argv: [],
    now: new Date(),
    ...more,
  });
}

describe("the sections of a gate", () => {
  it("sections that are legs are not united, even if they are of one session", () => {
    const legs = [section("a", "pass", "one"), section("b", "fail", "one")];
    expect(uniteSections(legs)).toEqual({ sections: legs, joined: 0 });
  });

  it("a gate is unjudged while a section is missing or rejected, and without any section", () => {
    const two = [section("a", "pass"), section("b", "pass")];
    expect(answer(two)).toMatchObject({ expected: null, missing: [], report: { verdict: "pass", exit_code: 0 } });
    for (const [given, more, expected] of [
      [two, { expected: parseExpected("3") }, 3],
      [two, { expected: parseExpected("a,b,c,d") }, 4],
      [two, { refused: ["x is not JSON", "y names a later attempt than this run's"] }, 4],
      [two, { expected: parseExpected("3"), refused: ["x"] }, 3],
      [[], {}, 1],
    ] as const) {
      expect(answer(given, more)).toMatchObject({ expected, report: { verdict: "unjudged", exit_code: 6 } });
    }
  });

  it("give the same answer at every reading, so that the comment does not change", () => {
    const given = [section("a", "pass"), section("b", "warn")];
    const [once, twice] = [answer(given, { recorded: "failure" }), answer(given, { recorded: "failure" })];
    expect(once.report).toMatchObject({ verdict: "error", exit_code: 1 });
    expect(once.sections.map(({ leg }) => leg)).toEqual(["a", "b", "jobs"]);
    expect(twice.sections).toEqual(once.sections);
  });

  it("keep a fail that GitHub's record does not contradict", () => {
    const given = [section("a", "fail")];
    expect(answer(given, { recorded: "failure" })).toMatchObject({ sections: given, report: { verdict: "fail" } });
  });
});
