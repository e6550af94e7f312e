import { describe, expect, it } from "vitest";
import type { GateRequest } from "../config/gate-request.ts";
import { sampleScenario } from "../report/testing/sample-report.ts";
import { scalingOf } from "./scaling.ts";

const VALUES = ["1", "2", "4", "8", "16"];
const MIB = 2 ** 20;

/** Reports of a varied scenario with one run each, by value; null = it has no peak. */
function reports(peak: (value: number) => number | null, values = VALUES) {
  return values.map((value) => {
    const sample = sampleScenario("pass", { scenario: `train@N=${value}` });
    const bytes = peak(Number(value));
    const runs = sample.runs.slice(0, 1).map((run) => ({
      ...run,
      info: {
        ...run.info,
        peaks:
          bytes === null
            ? []
            : [{ rank: 0, device: "host", metric: "host", bytes, kind: "exact", source: "" } as const],
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
  it("has the law, and the largest value that fits", () => {
    const [found] = scalingOf(request({ fits: [{ name: "card", bytes: square(32) }] }), reports(square));
    expect(found?.fit?.exponent).toBeCloseTo(2, 1);
    expect(found?.fits[0]?.largest?.value).toBeCloseTo(32, 0);
    expect(found).toMatchObject({ scenario: "train", name: "N", metric: "host", verdict: null, reason: null });
  });

  it("fails where the whole interval of the exponent is above its limit", () => {
    const limits = (maxExponent: number) => ({ scalingLimits: { maxExponent, maxCoefficient: null } });
    expect(scalingOf(request(limits(1.5)), reports(square))[0]?.verdict).toBe("fail");
    expect(scalingOf(request(limits(2)), reports(square))[0]?.verdict).toBe("pass");
  });

  it("fails where b is above its limit on every curve", () => {
    const limits = (maxCoefficient: number) => ({ scalingLimits: { maxExponent: null, maxCoefficient } });
    expect(scalingOf(request(limits(MIB / 2)), reports(square))[0]?.verdict).toBe("fail");
    expect(scalingOf(request(limits(2 * MIB)), reports(square))[0]?.verdict).toBe("pass");
  });

  it.each([
    ["a value without a peak", reports((n) => (n === 4 ? null : square(n))), VALUES],
    ["four values", reports(square, VALUES.slice(1)), VALUES.slice(1)],
    ["words", reports(() => MIB, ["a", "b", "c", "d", "e"]), ["a", "b", "c", "d", "e"]],
    ["a peak that does not rise", reports(() => MIB), VALUES],
  ])("is a table alone, and unjudged by limits, with %s", (_what, measured, values) => {
    const limits = { scalingLimits: { maxExponent: 1, maxCoefficient: null } };
    const [found] = scalingOf(request(limits, values), measured);
    expect(found).toMatchObject({ fit: null, fits: [], verdict: "unjudged", no_fit: expect.any(String) });
    expect(found?.points).toHaveLength(values.length);
  });
});
