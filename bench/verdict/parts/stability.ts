import { median } from "../../../src/stats/order-statistics.ts";
import { injection, LEAK_SHAPES } from "../corpus/inject.ts";
import { readRealSeries } from "../corpus/real.ts";
import { HEALTHY, LEAKING, runProgram } from "../corpus/synthetic.ts";
import { describeShare, Tally } from "../intervals.ts";
import { seeded } from "../random.ts";
import { analysisOf } from "../rules/ours.ts";
import type { Part } from "./part.ts";

const UNDECIDED: ReadonlySet<string> = new Set(["insufficient", "unavailable", "rising"]);

/** The same series with every second sample left out must have the same class. */
export const stability: Part = ({ data, seed, quick }) => {
  const random = seeded(seed + 7);
  const tally = new Tally();
  const compare = (source: string, bytes: Float64Array, leaked: number): void => {
    const whole = analysisOf(bytes);
    const half = analysisOf(bytes.filter((_, i) => i % 2 === 0));
    // A leak below the half's stated detectable minimum is not a contradiction.
    if (leaked > 0 && half.mde_bytes !== null && leaked < half.mde_bytes) return;
    if ([whole, half].some((one) => one.class === "insufficient")) return;
    for (const name of [source, "all"]) {
      tally.add(`${name} class`, whole.class === half.class);
      if (UNDECIDED.has(whole.class) || UNDECIDED.has(half.class)) continue;
      tally.add(`${name} verdict`, (whole.class === "leak") === (half.class === "leak"));
    }
  };
  for (const { kind, bytes } of readRealSeries(data)) {
    if (kind === "highwater" || bytes.length < 48) continue;
    compare("real, healthy", bytes, 0);
    for (const shape of LEAK_SHAPES) {
      const leak = injection(shape, bytes.length, 0.1 * median(bytes), random);
      if (leak.stairs !== null && leak.stairs < 4) continue;
      compare(
        "real, leak injected",
        bytes.map((value, i) => value + leak.values[i]!),
        leak.growth,
      );
    }
  }
  for (const [source, workloads] of [
    ["synthetic, healthy", HEALTHY],
    ["synthetic, leaking", LEAKING],
  ] as const) {
    for (const workload of Object.values(workloads)) {
      for (const steps of [120, 300, 600]) {
        for (let round = 0; round < (quick ? 5 : 20); round++) {
          compare(source, runProgram(workload, steps, random).allocated, 0);
        }
      }
    }
  }
  return [
    {
      title: "Every second sample",
      note: "Series against the same series with every second sample left out. Decided: both are judged, neither is rising. A leak below what the thinner series says it can detect is left out.",
      rows: [
        ["series", "same verdict, decided cases", "same class"],
        ...["real, healthy", "real, leak injected", "synthetic, healthy", "synthetic, leaking", "all"].map((name) => [
          name,
          describeShare(tally.get(`${name} verdict`)),
          describeShare(tally.get(`${name} class`)),
        ]),
      ],
    },
  ];
};
