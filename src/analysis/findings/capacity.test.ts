import { describe, expect, it } from "vitest";
import { prng } from "../../stats/testing/prng.ts";
import { analyze } from "../analyze.ts";
import { recordingOf, tableOf } from "../testing/recordings.ts";
import { growing, noisy } from "../testing/shapes.ts";

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

const finding = (columns: Parameters<typeof tableOf>[0], classification: string, steps = true, device = "cuda:0") =>
  analyze(recordingOf([tableOf(columns, { steps, device })])).findings.find(
    (one) => one.classification === classification,
  );

describe("allocator slack", () => {
  const reserved = new Float64Array(101).fill(3 * GIB);

  it("reports how long the measured leak stays hidden from the driver", () => {
    const slack = finding({ allocated: growing(noisy(0), 100)(101, prng(1)), reserved }, "allocator_slack")!;
    expect(slack.severity).toBe("info");
    expect(slack.evidence).toMatchObject({
      slack_bytes: 2 * GIB - 100 * MIB,
      hidden_units: 2 * 1024 - 100,
      unit: "step",
      leak: "measured",
    });
    expect(slack.description).toContain("would stay hidden from the driver for 1948 steps");
  });

  it("uses the smallest detectable leak when nothing grows", () => {
    const slack = finding({ allocated: noisy(1)(101, prng(1)), reserved }, "allocator_slack")!;
    expect(slack.evidence.leak).toBe("smallest detectable");
    expect(Number(slack.evidence.hidden_units)).toBeGreaterThan(1000);
  });

  it("allocator slack is not reported when it is small, when one value is unknown, or for the heap of the host", () => {
    const allocated = noisy(0)(101, prng(1));
    const leaking = growing(noisy(0), 100)(101, prng(1));
    expect(finding({ allocated: leaking, reserved }, "allocator_slack", true, "host")).toBeUndefined();
    expect(finding({ allocated, reserved: allocated.map((v) => v + 10 * MIB) }, "allocator_slack")).toBeUndefined();
    expect(finding({ allocated }, "allocator_slack")).toBeUndefined();
  });
});

describe("a horizon of a million steps", () => {
  const horizon = { kind: "steps", steps: 1_000_000 } as const;
  const heap = (perStep: number) =>
    Float64Array.from({ length: 400 }, (_, i) => 30 * MIB + 16 * Math.round((perStep * i) / 16));
  const judged = (perStep: number, given: typeof horizon | null) =>
    analyze(recordingOf([tableOf({ allocated: heap(perStep) }, { steps: true, device: "host" })]), { horizon: given });

  it("makes 1.3 kB a step a leak, which has no finding without it", () => {
    expect(judged(1300, horizon).series[0]?.class).toBe("leak");
    const now = judged(1300, null);
    expect(now.series[0]?.class).toBe("flat");
    expect(now.findings).toEqual([]);
  });

  it("ignores 100 bytes a step: 100 MB are below its floor of 128 MiB", () => {
    const later = judged(100, horizon);
    expect(later.series[0]?.class).toBe("flat");
    expect(later.findings).toEqual([]);
  });
});
