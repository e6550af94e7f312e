import { describe, expect, it } from "vitest";
import { stepPositions } from "../analysis/series/series.ts";
import { type BandSeries, buildBand } from "./band.ts";

const KEY = { rank: 0, device: "host", metric: "allocated" } as const;

/** A run of 50 steps whose memory is its step: `seconds` a step, after a start without steps. */
function run(seconds: number, startS: number): BandSeries {
  const samples = 1000;
  const time_s = Float64Array.from({ length: samples }, (_, i) => (i * (startS + 50 * seconds)) / samples);
  const raw = time_s.map((time) => (time < startS ? Number.NaN : Math.floor((time - startS) / seconds)));
  const bytes = raw.map((step) => (Number.isNaN(step) ? 7 : 1000 + step));
  return { ...KEY, time_s, steps: stepPositions(time_s, raw), bytes };
}

describe("the band of a baseline", () => {
  it("lines runs of different speed up by their steps", () => {
    const envelope = buildBand([run(0.1, 0.5), run(0.2, 3), run(0.1, 1)])!;
    expect(envelope.runs).toBe(3);
    expect(envelope.steps).toHaveLength(envelope.time_s.length);
    envelope.steps!.forEach((step, i) => {
      expect(Math.abs(envelope.mid_bytes[i]! - (1000 + step))).toBeLessThan(1.5);
      expect(envelope.high_bytes[i]! - envelope.low_bytes[i]!).toBeLessThanOrEqual(1);
    });
    expect([...envelope.time_s].sort((a, b) => a - b)).toEqual(envelope.time_s);
  });

  it("the band of a baseline is over time where one run counts no steps", () => {
    const { steps: _, ...plain } = run(0.1, 0.5);
    const envelope = buildBand([run(0.1, 0.5), plain])!;
    expect(envelope.steps).toBeUndefined();
    expect(envelope.time_s.at(-1)).toBeCloseTo(5.4, 1);
    expect(envelope.low_bytes[0]).toBe(7);
  });

  it("ends over time where the first run frees its memory", () => {
    const ending = (seconds: number): BandSeries => {
      const time_s = Float64Array.from({ length: 1000 }, (_, i) => (i * seconds) / 1000);
      return { ...KEY, time_s, bytes: time_s.map((_, i) => (i < 995 ? 1000 : 4)) };
    };
    const envelope = buildBand([ending(2), ending(2.4), ending(2.2)])!;
    expect(new Set([...envelope.low_bytes, ...envelope.high_bytes])).toEqual(new Set([1000]));
    expect(envelope.time_s.at(-1)).toBeGreaterThan(1.9);
  });
});

describe("positions of samples on the axis of steps", () => {
  it("positions on the axis of steps divide each step among its samples, and stay unknown outside steps", () => {
    const steps = Float64Array.of(Number.NaN, 3, 3, 5, 5, Number.NaN);
    const positions = stepPositions(Float64Array.of(0, 1, 2, 3, 4, 9), steps);
    expect([...positions!]).toEqual([Number.NaN, 3, 4, 5, 5.5, Number.NaN]);
  });

  it("positions on the axis of steps are null for fewer than two steps, and where a number falls", () => {
    expect(stepPositions(Float64Array.of(0, 1), Float64Array.of(1, 1))).toBeNull();
    expect(stepPositions(Float64Array.of(0, 1, 2), Float64Array.of(1, 2, 1))).toBeNull();
  });
});
