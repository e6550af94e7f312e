import { describe, expect, it } from "vitest";
import type { MeasuredRun } from "../analysis/measurements.ts";
import { GIB, MIB } from "../core/units.ts";
import { type JudgeInput, judge } from "./judge.ts";
import { DEFAULT_POLICY } from "./model/defaults.ts";
import type { Judgement } from "./model/judgement.ts";
import { measured, nights, runOf } from "./testing/measurements.ts";

const BASE = measured(nights(10, { peak_bytes: GIB }));

function ask(candidate: readonly MeasuredRun[], more: Partial<JudgeInput> = {}): Judgement {
  const input = { candidate: measured(candidate), baseline: BASE, anchor: null, policy: DEFAULT_POLICY };
  return judge({ ...input, baseRunsPossible: true, ...more });
}

const peakOf = ({ checks }: Judgement) => checks.find(({ aspect, limit }) => aspect === "peak" && limit === "baseline");

describe("an improvement of the peak", () => {
  it("passes an improvement and proposes to refresh the baseline", () => {
    const judgement = ask([runOf("pr", { peak_bytes: GIB / 2 })]);
    expect(judgement.verdict).toBe("pass");
    expect(peakOf(judgement)).toMatchObject({ improved: true });
    expect(judgement.reason).toContain("refresh the baseline");
  });

  it("proposes no refresh for one run that is low by no more than sessions or runs of the baseline differ", () => {
    const noisy = measured([0, 9, -8, 3, -4, 6].map((at, i) => runOf(`night-${i}`, { peak_bytes: GIB + at * MIB })));
    const improved = (more: Partial<JudgeInput>, ...low: readonly number[]) =>
      peakOf(
        ask(
          low.map((by) => runOf("pr", { peak_bytes: GIB - by * MIB })),
          more,
        ),
      )?.improved;
    expect(improved({ baseline: noisy }, 20)).toBe(false);
    expect(improved({ baseline: noisy }, 20, 21)).toBe(false);
    expect(improved({ baseline: noisy }, 200)).toBe(true);
    const oneSession = measured([0, 1, 2, 3, 4].map((at) => runOf("night-0", { peak_bytes: GIB + at * MIB })));
    expect(improved({ baseline: oneSession }, 200, 200, 200)).toBe(false);
  });

  it("proposes a refresh when runs of the base commit in this session lie above those of the change", () => {
    const here = measured(Array.from({ length: 6 }, () => runOf("pr", { peak_bytes: GIB })));
    const low = Array.from({ length: 4 }, () => runOf("pr", { peak_bytes: GIB - 60 * MIB }));
    expect(peakOf(ask(low, { baseline: here }))).toMatchObject({ verdict: "pass", improved: true });
    expect(peakOf(ask(low.slice(0, 1), { baseline: here }))).toMatchObject({ improved: false });
  });
});
