import { normal, seeded } from "../../bench/verdict/random.ts";
import { analyze } from "../../src/analysis/analyze.ts";
import type { DriftClass, SeriesAnalysis } from "../../src/analysis/series/document.ts";
import { GIB, MIB } from "../../src/core/units.ts";
import type { Metric } from "../../src/telemetry/recording/metrics.ts";

/** Synthetic memory of one rank by training step, with its class on the page. */
export interface ExampleSeries {
  readonly name: string;
  readonly caption: string;
  readonly metric: Metric;
  readonly expected: DriftClass;
  readonly bytes: Float64Array;
}

const STEPS = 600;

type Shape = (step: number, random: () => number) => number;

function exampleSeries(
  name: string,
  seed: number,
  caption: string,
  expected: DriftClass,
  shape: Shape,
  metric: Metric = "allocated",
): ExampleSeries {
  const random = seeded(seed);
  const bytes = Float64Array.from({ length: STEPS }, (_, step) => 512 * Math.round(shape(step, random) / 512));
  return { name, caption, metric, expected, bytes };
}

const noise = (random: () => number, bytes: number): number => bytes * normal(random);
const warming = (step: number): number => -1.6 * GIB * Math.exp(-step / 22);
const LEAK = 0.5 * MIB;
/** Growth of 300 MiB from one step to another. */
const ramp = (step: number, from: number, to: number): number =>
  300 * MIB * Math.min(1, Math.max(0, (step - from) / (to - from)));
/** Fills over twenty steps, then empties: an evaluation phase, a cache that is dropped. */
const tooth = (step: number, height: number): number => ((step % 24) / 24) * height;

/** A running maximum of exchangeable or drifting demand, in segments of 20 MiB as of a caching allocator. */
function reservedOf(drift: number): Shape {
  let top = 0;
  return (step, random) => {
    top = Math.max(top, 4 * GIB + drift * step + noise(random, 60 * MIB) + warming(step) / 2);
    return 20 * MIB * Math.ceil(top / (20 * MIB));
  };
}

/** Pairs that look alike: the first is healthy, the second leaks. */
export const PAIRS: Readonly<Record<string, readonly [ExampleSeries, ExampleSeries]>> = {
  "warm-up": [
    exampleSeries(
      "warm-up",
      11,
      "caches fill, then rest",
      "plateau",
      (i, r) => 4 * GIB + warming(i) + noise(r, 12 * MIB),
    ),
    exampleSeries(
      "warm-up-leak",
      12,
      "the same, and 0.5 MiB a step",
      "leak",
      (i, r) => 4 * GIB + warming(i) + LEAK * i + noise(r, 12 * MIB),
    ),
  ],
  staircase: [
    exampleSeries(
      "jump",
      13,
      "one jump of 300 MiB",
      "step",
      (i, r) => 4 * GIB + (i > 390 ? 300 * MIB : 0) + noise(r, 4 * MIB),
    ),
    exampleSeries(
      "staircase",
      14,
      "300 MiB in stairs of 20 MiB",
      "leak",
      (i, r) => 4 * GIB + 20 * MIB * Math.floor(i / 40 + 0.3) + noise(r, 4 * MIB),
    ),
  ],
  "saw-tooth": [
    exampleSeries(
      "saw-tooth",
      15,
      "fills and empties 900 MiB",
      "sawtooth",
      (i, r) => 4 * GIB + tooth(i, 900 * MIB) + noise(r, 10 * MIB),
    ),
    exampleSeries(
      "saw-tooth-leak",
      16,
      "the same over a leak of 300 MiB",
      "leak",
      (i, r) => 4 * GIB + tooth(i, 900 * MIB) + LEAK * i + noise(r, 10 * MIB),
    ),
  ],
  ended: [
    exampleSeries(
      "ended",
      19,
      "two ramps, then it rests",
      "plateau",
      (i, r) => 4 * GIB + (ramp(i, 60, 150) + ramp(i, 240, 330)) / 2 + noise(r, 8 * MIB),
    ),
    exampleSeries(
      "going-on",
      20,
      "two ramps, and it goes on",
      "leak",
      (i, r) => 4 * GIB + (ramp(i, 0, 200) + ramp(i, 330, STEPS)) / 2 + noise(r, 8 * MIB),
    ),
  ],
  "high-water": [
    exampleSeries("high-water", 17, "reserved, demand at rest", "plateau", reservedOf(0), "reserved"),
    exampleSeries("high-water-rising", 18, "reserved, demand grows", "rising", reservedOf(0.6 * MIB), "reserved"),
  ],
};

/** The series as the real analysis classifies it. */
export function analysed({ metric, bytes }: ExampleSeries): SeriesAnalysis {
  const steps = Float64Array.from(bytes.keys());
  const document = analyze({
    epochNs: null,
    tables: [
      {
        rank: 0,
        device: "cuda:0",
        timeNs: steps.map((step) => step * 2.5e8),
        steps,
        columns: { [metric]: bytes },
        highwater: new Set(),
      },
    ],
    peaks: [],
    marks: [],
    events: null,
    worldSize: null,
    missing: {},
    info: null,
  });
  const [series] = document.series;
  if (series === undefined) throw new Error("the analysis returned no series");
  return series;
}
