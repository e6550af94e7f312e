import { describe, expect, test } from "vitest";
import type { GrowthStretch } from "../../analysis/growth/growth-stretch.ts";
import type { AnalysisDocument, DriftClass } from "../../analysis/series/document.ts";
import type { Aspect, Check, CheckVerdict, Judgement } from "../../verdict/model/judgement.ts";
import { attributionEnvironment, attributionTimes, attributionWanted } from "./attribution-plan.ts";

function judgement(verdict: CheckVerdict, aspect: Aspect): Judgement {
  const check = { verdict, aspect, kind: aspect } as Check;
  return { verdict, checks: [check] } as unknown as Judgement;
}

const analysis = (label: DriftClass) => ({ series: [{ class: label }] }) as unknown as AnalysisDocument;

describe("an attribution run", () => {
  test("an attribution run is made after a breach of growth or class, and not after a clean run", () => {
    expect(attributionWanted("auto", judgement("fail", "growth"), analysis("rising"))).toBe(true);
    expect(attributionWanted("auto", judgement("warn", "class"), analysis("leak"))).toBe(true);
    expect(attributionWanted("auto", judgement("pass", "growth"), analysis("leak"))).toBe(false);
  });

  test("an attribution run is made after a peak breach only while a series grows", () => {
    expect(attributionWanted("auto", judgement("fail", "peak"), analysis("flat"))).toBe(false);
    expect(attributionWanted("auto", judgement("fail", "peak"), analysis("leak"))).toBe(true);
  });

  test.each(["descriptors", "threads", "left_behind"])(
    "an attribution run is not made for %s, which no line holds",
    (metric) => {
      const leak = { verdict: "fail", aspect: "class", kind: "class", metric } as Check;
      const judged = { verdict: "fail", checks: [leak] } as unknown as Judgement;
      expect(attributionWanted("auto", judged, analysis("leak"))).toBe(false);
    },
  );

  test('an attribution run is never made with "off", and always with "always"', () => {
    expect(attributionWanted("off", judgement("fail", "growth"), analysis("leak"))).toBe(false);
    expect(attributionWanted("always", null, null)).toBe(true);
  });
});

describe("the moments of an attribution run", () => {
  const growth = (unit: "steps" | "seconds", onset: number, end: number): GrowthStretch => ({
    kind: "growth",
    unit,
    start: 0,
    onset,
    end,
    bytes: 1,
  });

  test.each([0, 30, 60, 75, 85])(
    "the moments of an attribution run lie after an onset at %i percent of the run, six of them at least",
    (percent) => {
      const times = attributionTimes(growth("steps", 4 * percent, 400));
      expect(times?.kind).toBe("steps");
      expect(times?.at.length).toBeGreaterThanOrEqual(6);
      expect(times?.at.every((at) => at > 4 * percent && at < 400)).toBe(true);
    },
  );

  test("the moments of an attribution run leave out the beginning of growth from the first step", () => {
    expect(attributionTimes(growth("seconds", 0, 10))?.at).toEqual([2.5, 3.7, 4.9, 6.1, 7.3, 8.4, 9.4]);
  });

  test("the moments of an attribution run do not exist in a stretch that is too short for five of them", () => {
    expect(attributionTimes(growth("steps", 396, 400))).toBeNull();
    expect(attributionTimes(growth("seconds", 9.95, 10))).toBeNull();
  });

  test("the moments of an attribution run stand on both sides of a jump", () => {
    const times = attributionTimes({
      kind: "jump",
      unit: "steps",
      start: 0,
      before: 69,
      after: 71,
      end: 100,
      bytes: 1,
    });
    expect(times?.at.filter((at) => at < 70)).toHaveLength(2);
    expect(times?.at.filter((at) => at > 70)).toHaveLength(4);
  });
});

test("the environment keeps the caller's NODE_OPTIONS and quotes a path with spaces", () => {
  const env = attributionEnvironment({ kind: "steps", at: [1, 2, 3] }, '/a b/"c"/attribute.cjs', "--no-warnings");
  expect(env.STORMLOG_GATE_ATTRIBUTE_AT).toBe("steps:1,2,3");
  expect(env.NODE_OPTIONS).toBe('--no-warnings --require "/a b/\\"c\\"/attribute.cjs"');
});
