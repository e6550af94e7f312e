import { describe, expect, test } from "vitest";
import type { AnalysisDocument, DriftClass } from "../../analysis/document.ts";
import type { Recording } from "../../telemetry/recording/model.ts";
import type { Aspect, Check, CheckVerdict, Judgement } from "../../verdict/judgement.ts";
import { attributionEnvironment, attributionTimes, attributionWanted } from "./attribution-plan.ts";

function recording(steps: readonly number[] | null): Recording {
  return {
    epochNs: null,
    tables: [
      {
        rank: 0,
        device: "host",
        timeNs: null,
        steps: steps === null ? null : Float64Array.from(steps),
        columns: {},
        highwater: new Set(),
      },
    ],
    peaks: [],
    marks: [],
    events: null,
    worldSize: null,
    missing: {},
    info: null,
  };
}

function judgement(verdict: CheckVerdict, aspect: Aspect): Judgement {
  const check = { verdict, aspect, kind: aspect } as Check;
  return { verdict, checks: [check] } as unknown as Judgement;
}

const analysis = (label: DriftClass) => ({ series: [{ class: label }] }) as unknown as AnalysisDocument;

describe("an attribution run", () => {
  test("is made after a breach of growth or class, and not after a clean run", () => {
    expect(attributionWanted("auto", judgement("fail", "growth"), analysis("rising"))).toBe(true);
    expect(attributionWanted("auto", judgement("warn", "class"), analysis("leak"))).toBe(true);
    expect(attributionWanted("auto", judgement("pass", "growth"), analysis("leak"))).toBe(false);
  });

  test("is made after a peak breach only while a series grows", () => {
    expect(attributionWanted("auto", judgement("fail", "peak"), analysis("flat"))).toBe(false);
    expect(attributionWanted("auto", judgement("fail", "peak"), analysis("leak"))).toBe(true);
  });

  test("is never made with off, and always with always", () => {
    expect(attributionWanted("off", judgement("fail", "growth"), analysis("leak"))).toBe(false);
    expect(attributionWanted("always", null, null)).toBe(true);
  });
});

describe("the times of attribution snapshots", () => {
  test("are steps of the last run where it has enough", () => {
    expect(attributionTimes(recording([1, 2, 400]), 10)).toEqual({ kind: "steps", at: [140, 200, 260, 320, 368] });
  });

  test("are seconds where there are no steps, or too few", () => {
    expect(attributionTimes(recording(null), 10)).toEqual({ kind: "seconds", at: [3.5, 5, 6.5, 8, 9.2] });
    expect(attributionTimes(recording([1, 2]), 10)?.kind).toBe("seconds");
    expect(attributionTimes(recording([Number.NaN]), 10)?.kind).toBe("seconds");
  });

  test("do not exist for a very short run", () => {
    expect(attributionTimes(recording(null), 0.1)).toBeNull();
    expect(attributionTimes(recording(null), null)).toBeNull();
  });
});

test("the environment keeps the caller's NODE_OPTIONS and quotes a path with spaces", () => {
  const env = attributionEnvironment({ kind: "steps", at: [1, 2, 3] }, '/a b/"c"/attribute.cjs', "--no-warnings");
  expect(env.STORMLOG_GATE_ATTRIBUTE_AT).toBe("steps:1,2,3");
  expect(env.NODE_OPTIONS).toBe('--no-warnings --require "/a b/\\"c\\"/attribute.cjs"');
});
