import { describe, expect, it } from "vitest";
import type { GateRequest } from "../config/gate-request.ts";
import { sampleScenario } from "../report/testing/sample-report.ts";
import type { RecordingInfo } from "../telemetry/recording/model.ts";
import { scalingOf } from "./scaling.ts";

const VALUES = ["1", "2", "4", "8", "16"];
const MIB = 2 ** 20;

/** A peak of the host, or of a device's allocator. */
const peak = (bytes: number, device = "host") =>
  ({ rank: 0, device, metric: device === "host" ? "host" : "allocated", bytes, kind: "exact", source: "" }) as const;

/** Reports of a varied scenario with one run each, by value; null = it has no peak. */
function reports(bytesOf: (value: number) => number | null, values = VALUES) {
  return values.map((value) => {
    const sample = sampleScenario("pass", { scenario: `train@N=${value}` });
    const bytes = bytesOf(Number(value));
    const runs = sample.runs.slice(0, 1).map((run) => ({
      ...run,
      info: {
        ...run.info,
        peaks: bytes === null ? [] : [peak(bytes)],
      },
    }));
    return { ...sample, runs };
  });
}

function request(overrides: Partial<GateRequest> = {}, values = VALUES): GateRequest {
  const scenarios = values.map((value) => ({ name: `train@N=${value}`, varied: { of: "train", name: "N", value } }));
  return { scenarios, fits: [], scalingLimits: null, ...overrides } as unknown as GateRequest;
}

const square = (n: number) => 100 * MIB + MIB * n * n;

describe("the scaling of a peak", () => {
  it("the scaling of a peak has the law, and the largest value that fits", () => {
    const [found] = scalingOf(request({ fits: [{ name: "card", bytes: square(32) }] }), reports(square));
    expect(found?.fit?.exponent).toBeCloseTo(2, 1);
    expect(found?.fits[0]?.largest?.value).toBeCloseTo(32, 0);
    expect(found).toMatchObject({ scenario: "train", name: "N", metric: "host", verdict: null, reason: null });
  });

  it("the scaling of a peak fails where the whole interval of the exponent is above its limit", () => {
    const limits = (maxExponent: number) => ({ scalingLimits: { maxExponent, maxCoefficient: null } });
    expect(scalingOf(request(limits(1.5)), reports(square))[0]?.verdict).toBe("fail");
    expect(scalingOf(request(limits(2)), reports(square))[0]?.verdict).toBe("pass");
  });

  it("the scaling of a peak fails where b is above its limit on every curve", () => {
    const limits = (maxCoefficient: number) => ({ scalingLimits: { maxExponent: null, maxCoefficient } });
    expect(scalingOf(request(limits(MIB / 2)), reports(square))[0]?.verdict).toBe("fail");
    expect(scalingOf(request(limits(2 * MIB)), reports(square))[0]?.verdict).toBe("pass");
  });

  it.each([
    ["a value without a peak", reports((n) => (n === 4 ? null : square(n))), VALUES],
    ["four values", reports(square, VALUES.slice(1)), VALUES.slice(1)],
    ["words", reports(() => MIB, ["a", "b", "c", "d", "e"]), ["a", "b", "c", "d", "e"]],
    ["a peak that does not rise", reports(() => MIB), VALUES],
  ])("the scaling of a peak is a table alone, and unjudged by limits, with %s", (_what, measured, values) => {
    const limits = { scalingLimits: { maxExponent: 1, maxCoefficient: null } };
    const [found] = scalingOf(request(limits, values), measured);
    expect(found).toMatchObject({ fit: null, fits: [], verdict: "unjudged", no_fit: expect.any(String) });
    expect(found?.points).toHaveLength(values.length);
  });

  it.each<[string, (n: number) => number, string]>([
    ["level from 4 on", (n) => 100 * MIB * Math.min(n, 4), "not a power: level from 4 on"],
    ["a jump", (n) => (n < 8 ? 100 : 900) * MIB + n * MIB, "not a power: the best is "],
  ])("the scaling of a peak has no law and no size where the curve is %s", (_what, bytesOf, why) => {
    const [found] = scalingOf(request({ fits: [{ name: "card", bytes: 80 * 2 ** 30 }] }), reports(bytesOf));
    expect(found).toMatchObject({ fit: null, fits: [], no_fit: expect.stringContaining(why) });
  });

  it("the scaling of a peak has no law where noise leaves the exponent open, and may still breach its limit", () => {
    const noisy = (n: number) => (1000 + 4 * n) * MIB * (n === 4 ? 1.004 : n === 8 ? 0.996 : 1);
    const limits = (maxExponent: number) => ({ scalingLimits: { maxExponent, maxCoefficient: null } });
    const [open] = scalingOf(request(limits(6)), reports(noisy));
    expect(open).toMatchObject({
      fit: null,
      verdict: "unjudged",
      no_fit: expect.stringMatching(/^the exponent is between /),
    });
    expect(scalingOf(request(limits(0.01)), reports(noisy))[0]?.verdict).toBe("fail");
  });

  it("a value that was measured to fit is below the largest that does, and within its interval", () => {
    const uneven = (n: number) => square(n) * (n === 16 ? 0.97 : 1);
    const [found] = scalingOf(request({ fits: [{ name: "card", bytes: uneven(16) }] }), reports(uneven));
    expect(found?.fits[0]?.largest?.low).toBeGreaterThanOrEqual(16);
    expect(found?.fits[0]?.largest?.value).toBeGreaterThanOrEqual(16);
  });

  const SIX = [...VALUES, "32"];
  /** The reports of six values, the last of which ended in another way, without a device's peak. */
  const withLast = (ending: Partial<RecordingInfo>, bytes: number) =>
    reports(square, SIX).map((one, at) => ({
      ...one,
      runs: one.runs.map((run) =>
        at === 5
          ? { ...run, info: { ...run.info, peaks: [peak(bytes)], ...ending } }
          : { ...run, info: { ...run.info, peaks: [...run.info.peaks, peak(square(2 ** at), "cuda:0")] } },
      ),
    }));
  const established = { certainty: "established" } as RecordingInfo["oom"];

  it.each<[string, Partial<RecordingInfo>]>([
    ["failed", { exit: { kind: "exited", code: 1 } }],
    ["was killed", { exit: { kind: "signaled", signal: "SIGKILL" } }],
    ["was interrupted", { exit: { kind: "interrupted", signal: "SIGINT" } }],
    ["caught an out-of-memory error", { oom: established }],
  ])("the scaling of a peak ignores a command that %s, and keeps the series of the others", (_what, ending) => {
    const [found] = scalingOf(request({}, SIX), withLast(ending, 3 * MIB));
    expect(found?.points.at(-1)).toEqual({ value: "32", bytes: null, failed: true });
    expect(found).toMatchObject({ metric: "allocated", device: "device" });
    expect(found?.fit?.exponent).toBeCloseTo(2, 1);
  });

  it("the scaling of a peak keeps the series of the measured values where the last was not reached", () => {
    const all = withLast({}, 3 * MIB).slice(0, 5);
    const [found] = scalingOf(request({}, SIX), all);
    expect(found?.points.at(-1)).toEqual({ value: "32", bytes: null });
    expect(found).toMatchObject({ metric: "allocated", device: "device" });
  });

  it("the scaling of a peak has no fit where a failed run leaves fewer than five values", () => {
    const measured = reports(square).map((one, at) => ({
      ...one,
      runs: one.runs.map((run) =>
        at === 4 ? { ...run, info: { ...run.info, exit: { kind: "exited", code: 1 } as const } } : run,
      ),
    }));
    const [found] = scalingOf(request(), measured);
    expect(found).toMatchObject({ fit: null, no_fit: "a fit needs 5 different numbers that were measured" });
  });

  it("counts a number that is written in two ways once", () => {
    const values = ["1", "1.0", "2", "3", "4"];
    const [found] = scalingOf(request({}, values), reports(square, values));
    expect(found?.no_fit).toBe("a fit needs 5 different numbers that were measured");
  });

  it("shows a coefficient below one byte in the reason of a breach", () => {
    const limits = { scalingLimits: { maxExponent: null, maxCoefficient: 0 } };
    const values = ["1000", "2000", "4000", "8000", "16000"];
    const [found] = scalingOf(
      request(limits, values),
      reports((n) => MIB + 0.02 * n * n, values),
    );
    expect(found?.reason).toMatch(/^b is at least 0\.0\d+ B, above 0 B$/);
  });
});
