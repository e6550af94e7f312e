import { normal, seeded } from "../../bench/verdict/random.ts";
import { analyze } from "../../src/analysis/analyze.ts";
import type { DriftClass, SeriesAnalysis } from "../../src/analysis/document.ts";
import { GIB, MIB } from "../../src/core/units.ts";
import type { Metric } from "../../src/telemetry/recording/model.ts";

/** Memory of one rank by training step, made up, with the class that the page says it has. */
export interface ExampleSeries {
  readonly name: string;
  readonly caption: string;
  readonly metric: Metric;
  readonly expected: DriftClass;
  readonly bytes: Float64Array;
}

const STEPS = 600;

type Shape = (step: number, random: () => number) => number;

function story(
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
/** Fills over twenty steps, then empties: an evaluation phase, a cache that is dropped. */
const tooth = (step: number, height: number): number => ((step % 24) / 24) * height;

/** A running maximum of demand that is exchangeable or drifts, in segments of 20 MiB, as a caching allocator reserves. */
function reservedOf(drift: number): Shape {
  let top = 0;
  return (step, random) => {
    top = Math.max(top, 4 * GIB + drift * step + noise(random, 60 * MIB) + warming(step) / 2);
    return 20 * MIB * Math.ceil(top / (20 * MIB));
  };
}

/** Pairs that look alike and are not: the first is innocent, the second is not. */
export const PAIRS: Readonly<Record<string, readonly [ExampleSeries, ExampleSeries]>> = {
  "warm-up": [
    story("warm-up", 11, "caches fill, then rest", "plateau", (i, r) => 4 * GIB + warming(i) + noise(r, 12 * MIB)),
    story(
      "warm-up-leak",
      12,
      "the same, and 0.5 MiB a step",
      "leak",
      (i, r) => 4 * GIB + warming(i) + LEAK * i + noise(r, 12 * MIB),
    ),
  ],
  staircase: [
    story("jump", 13, "one jump of 300 MiB", "step", (i, r) => 4 * GIB + (i > 390 ? 300 * MIB : 0) + noise(r, 4 * MIB)),
    story(
      "staircase",
      14,
      "300 MiB in stairs of 20 MiB",
      "leak",
      (i, r) => 4 * GIB + 20 * MIB * Math.floor(i / 40 + 0.3) + noise(r, 4 * MIB),
    ),
  ],
  "saw-tooth": [
    story(
      "saw-tooth",
      15,
      "fills and empties 900 MiB",
      "sawtooth",
      (i, r) => 4 * GIB + tooth(i, 900 * MIB) + noise(r, 10 * MIB),
    ),
    story(
      "saw-tooth-leak",
      16,
      "the same over a leak of 300 MiB",
      "leak",
      (i, r) => 4 * GIB + tooth(i, 900 * MIB) + LEAK * i + noise(r, 10 * MIB),
    ),
  ],
  "high-water": [
    story("high-water", 17, "reserved, demand at rest", "plateau", reservedOf(0), "reserved"),
    story("high-water-rising", 18, "reserved, demand grows", "rising", reservedOf(0.6 * MIB), "reserved"),
  ],
};

/** The real analysis of a story. */
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
  if (series === undefined) throw new Error("the story has no series");
  return series;
}
