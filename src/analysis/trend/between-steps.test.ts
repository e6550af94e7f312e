import { describe, expect, it } from "vitest";
import { recording, table } from "../../telemetry/testing/recordings.ts";
import { analyze } from "../analyze.ts";

const MIB = 2 ** 20;
const SAMPLES = 40;

/**
 * Host memory of steps of 2 s, 20 samples a second: each step rises by 150 MiB, and `kept` MiB stay. The first sample
 * of a step is that of its beginning.
 */
function classOf(count: number, kept: (step: number) => number) {
  const n = count * SAMPLES;
  const values = Float64Array.from({ length: n }, (_, i) => {
    const step = Math.floor(i / SAMPLES);
    const noise = Math.sin(i * 12.9898) * 0.4;
    return Math.round((400 + kept(step) + (150 * (i % SAMPLES)) / SAMPLES + noise) * MIB);
  });
  const one = table({
    ...{ rank: 0, device: "host", timeNs: Float64Array.from({ length: n }, (_, i) => i * 5e7) },
    steps: Float64Array.from({ length: n }, (_, i) => 1 + Math.floor(i / SAMPLES)),
    columns: { host: values },
  });
  return analyze(recording({ tables: [one] })).series[0]?.class;
}

describe("a program of few long steps", () => {
  it.each([1.6, 2, 3])("a program of %f long steps whose memory rises within each does not leak", (count) => {
    expect(classOf(count, () => 0)).not.toBe("leak");
  });

  it("a program that keeps more with every long step leaks with eight steps, not with three", () => {
    expect(classOf(3, (step) => 150 * step)).not.toBe("leak");
    expect(classOf(8, (step) => 150 * step)).toBe("leak");
    expect(classOf(20, (step) => 60 * step)).toBe("leak");
  });

  it("a program that keeps nothing in many long steps does not leak", () => {
    for (const count of [6, 9, 12, 20, 23])
      expect(
        classOf(count, () => 0),
        `${count} steps`,
      ).not.toBe("leak");
  });
});
