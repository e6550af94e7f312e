import { describe, expect, it } from "vitest";
import { MIB } from "../../core/units.ts";
import { analyseSeries } from "../growth/series-analysis.ts";
import { withoutStalls } from "./stalls.ts";

const PERIOD_S = 0.01;
const LEAK = (s: number) => 3 * MIB + 9 * MIB * s;
const SECONDS = 3;

interface Gap {
  readonly at: number;
  readonly length: number;
}

/** Samples of a program that runs for three seconds, in a gap of which nothing runs, or only the sampler does not. */
function sampled(level: (runningS: number) => number, { at, length }: Gap, stands: "machine" | "sampler") {
  const [x, bytes]: [number[], number[]] = [[], []];
  const end = stands === "machine" ? SECONDS + length : SECONDS;
  for (let s = 0; s < end; s += PERIOD_S) {
    if (s >= at && s < at + length) continue;
    x.push(s * 1e9);
    bytes.push(level(stands === "machine" && s >= at ? s - length : s));
  }
  return { x: Float64Array.from(x), bytes: Float64Array.from(bytes) };
}

function classOf({ x, bytes }: ReturnType<typeof sampled>) {
  const series = { rank: 0, device: "host", metric: "host", highwater: false, thinned: false, steps: null } as const;
  const context = { peaks: new Map(), horizon: null };
  return analyseSeries({ ...series, timeNs: x, bytes, totalBytes: null }, context).analysis.class;
}

const spanS = ({ x }: { readonly x: Float64Array }) => (x.at(-1)! - x[0]!) / 1e9;

describe("a machine that stands still", () => {
  it("a machine that stands still for two seconds leaves a leak a leak, wherever that is", () => {
    for (let at = 0.2; at < 2.8; at += 0.1) {
      expect(classOf(sampled(LEAK, { at, length: 2 }, "machine"))).toBe("leak");
    }
  });

  it("a gap in which the program grew on is left as it is", () => {
    const samples = sampled(LEAK, { at: 1, length: 1.5 }, "sampler");
    expect(withoutStalls(samples).x).toEqual(samples.x);
  });

  it("a rest under a period that doubles is left as it is", () => {
    const x: number[] = [];
    for (let [s, period] = [0, PERIOD_S]; s < 30; s += period) {
      x.push(s * 1e9);
      if (Math.floor(s) < Math.floor(s + period)) period = Math.min(1, 2 * period);
    }
    const samples = { x: Float64Array.from(x), bytes: Float64Array.from(x, (at) => LEAK(Math.min(at / 1e9, 2))) };
    expect(withoutStalls(samples).x).toEqual(samples.x);
  });

  it("a rest in which readings are missing up to the last two is left as it is", () => {
    const read = sampled((s) => LEAK(Math.min(s, 1)), { at: 1, length: 1.98 }, "sampler");
    expect(read.x.length).toBe(102);
    expect(withoutStalls(read).x).toEqual(read.x);
    expect(classOf(read)).not.toBe("leak");
  });

  it("a series of events in bursts is left as it is", () => {
    const x = Float64Array.from({ length: 600 }, (_, i) => (Math.floor(i / 60) + (i % 60) / 1000) * 1e9);
    const samples = { x, bytes: x.map((_, i) => 3 * MIB + i * 1e5) };
    expect(withoutStalls(samples).x).toEqual(x);
  });

  it("a stall takes its time out of the axis, but for one period", () => {
    const samples = sampled(LEAK, { at: 1, length: 2 }, "machine");
    expect(spanS(samples)).toBeGreaterThan(4.9);
    expect(spanS(withoutStalls(samples))).toBeLessThan(SECONDS + 2 * PERIOD_S);
  });
});
