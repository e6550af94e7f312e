import { analyze } from "../../../src/analysis/analyze.ts";
import type { OrderedSeries } from "../../../src/analysis/series/ordered.ts";
import { toBins } from "../../../src/analysis/trend/bins.ts";
import { classifyDrift } from "../../../src/analysis/trend/classify-drift.ts";
import { MIB } from "../../../src/core/units.ts";
import { median } from "../../../src/stats/order-statistics.ts";
import { injection, type LeakShape } from "../corpus/inject.ts";
import { type RealSeries, readRealSeries } from "../corpus/real.ts";
import { HEALTHY, runProgram } from "../corpus/synthetic.ts";
import { describeShare, shortShare, Tally } from "../intervals.ts";
import { normal, seeded } from "../random.ts";
import { recordingOf } from "../rules/ours.ts";
import type { Part, Table } from "./part.ts";

const FLOORS_MIB = [2, 4, 8, 12, 16] as const;
const SHAPES: readonly LeakShape[] = ["linear", "2 MiB stairs, random", "under a saw-tooth"];
const MIN_POINTS = 24;

/** Whether a level series is a leak under a floor other than the product's. */
function leaksUnder(bytes: Float64Array, floorMib: number): boolean {
  const n = bytes.length;
  const x = Float64Array.from({ length: n }, (_, i) => i);
  const ordered: OrderedSeries = { axis: "step", x, bytes, thinned: false, durationS: null, steps: n, stepSpan: n - 1 };
  const bins = toBins(ordered);
  if (bins.count < MIN_POINTS) return false;
  const floor = Math.max(floorMib * MIB, 0.01 * median(bins.middle));
  return (
    classifyDrift({ bins, metric: "allocated", change: floor, growth: floor, startupEnd: null, perStep: true })
      .class === "leak"
  );
}

/** What the floor costs and what it buys. */
function floors(series: readonly RealSeries[], seed: number, rounds: number): Table {
  const tally = new Tally();
  const each = (name: string, bytes: Float64Array) => {
    for (const floor of FLOORS_MIB) tally.add(`${floor} ${name}`, leaksUnder(bytes, floor));
  };
  for (const { bytes } of series) each("real", bytes);
  const random = seeded(seed + 13);
  for (const workload of Object.values(HEALTHY)) {
    for (const steps of [60, 120, 300, 600]) {
      for (let round = 0; round < rounds; round++) each("synthetic", runProgram(workload, steps, random).allocated);
    }
  }
  for (const { bytes } of series) {
    if (bytes.length < MIN_POINTS) continue;
    const level = median(bytes);
    for (const growth of [0.02, 0.05]) {
      for (const floor of FLOORS_MIB)
        tally.add(`${floor} ${growth} reachable`, growth * level > Math.max(floor * MIB, 0.01 * level));
      for (const shape of SHAPES) {
        const leak = injection(shape, bytes.length, growth * level, random);
        if (leak.stairs !== null && leak.stairs < 4) continue;
        each(
          `${growth}`,
          bytes.map((value, i) => value + leak.values[i]!),
        );
      }
    }
  }
  return {
    title: "The floor: what it costs and what it buys",
    note: "The larger of so many MiB and 1 % of the level. Reachable: share of the real series of which 2 % (5 %) lies above that floor at all. Found: leaks of 2 % (5 %), a third each linear, in random stairs of 2 MiB, and under a saw-tooth.",
    rows: [
      [
        "floor",
        "false leak, real",
        "false leak, synthetic",
        "2 %: reachable",
        "2 %: found",
        "5 %: reachable",
        "5 %: found",
      ],
      ...FLOORS_MIB.map((floor) => [
        `${floor} MiB`,
        describeShare(tally.get(`${floor} real`)),
        describeShare(tally.get(`${floor} synthetic`)),
        ...[0.02, 0.05].flatMap((growth) => [
          shortShare(tally.get(`${floor} ${growth} reachable`)),
          shortShare(tally.get(`${floor} ${growth}`)),
        ]),
      ]),
    ],
  };
}

const HORIZONS = [10_000, 100_000, 1_000_000, 10_000_000] as const;
const HEAP_STEPS = 400;
const HEAP_LEAK = 1300;

/** A heap that keeps 1.3 kB a step on average: evenly under noise of 4 kB, or a block of 13 kB now and then. */
function heaps(random: () => number): Float64Array[] {
  let kept = 0;
  return [
    Float64Array.from({ length: HEAP_STEPS }, (_, i) => 16 * Math.round((HEAP_LEAK * i + 4096 * normal(random)) / 16)),
    Float64Array.from({ length: HEAP_STEPS }, () => {
      if (random() < 0.1) kept += 10 * HEAP_LEAK;
      return kept;
    }),
  ].map((grown) => grown.map((value) => value + 40 * MIB));
}

/** What a stated production length finds, and what it makes of healthy runs. */
function horizons(series: readonly RealSeries[], seed: number, tries: number): Table {
  const tally = new Tally();
  const random = seeded(seed + 17);
  const leaking = Array.from({ length: tries }, () => heaps(random)).flat();
  for (const steps of HORIZONS) {
    const classOf = (bytes: Float64Array, at?: Float64Array) =>
      analyze(recordingOf(bytes, "level", at), { horizon: { kind: "steps", steps } }).series[0]?.class;
    for (const { bytes, steps: at } of series) {
      const found = classOf(bytes, at);
      tally.add(`${steps} leak`, found === "leak");
      tally.add(`${steps} rising`, found === "rising");
    }
    for (const bytes of leaking) tally.add(`${steps} heap`, classOf(bytes) === "leak");
  }
  return {
    title: "With a horizon",
    note: `Real healthy level series, and heaps that keep ${HEAP_LEAK} bytes a step over ${HEAP_STEPS} steps. At 10,000 and 100,000 steps such a heap grows by 13 and 130 MB: below the floor of 128 MiB there.`,
    rows: [
      ["horizon, steps", "healthy: leak", "healthy: rising", "heap leak found"],
      ...HORIZONS.map((steps) => [
        steps.toLocaleString("en-US"),
        ...["leak", "rising", "heap"].map((what) => describeShare(tally.get(`${steps} ${what}`))),
      ]),
    ],
  };
}

/** Where two targets pull in opposite directions: what was chosen, and what the alternatives cost. */
export const tradeOffs: Part = ({ data, seed, quick }) => {
  const series = readRealSeries(data).filter(({ kind }) => kind === "level");
  return [floors(series, seed, quick ? 10 : 50), horizons(series, seed, quick ? 10 : 50)];
};
