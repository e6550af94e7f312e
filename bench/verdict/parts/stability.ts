import { median } from "../../../src/stats/order-statistics.ts";
import { injection, LEAK_SHAPES } from "../corpus/inject.ts";
import { readRealSeries } from "../corpus/real.ts";
import { HEALTHY, LEAKING, runProgram } from "../corpus/synthetic.ts";
import { describeShare, Tally } from "../intervals.ts";
import { seeded } from "../random.ts";
import { analysisOf } from "../rules/ours.ts";
import type { Part } from "./part.ts";

const UNDECIDED: ReadonlySet<string> = new Set(["insufficient", "unavailable", "rising"]);
const SOURCES = ["real, healthy", "real, leak injected", "synthetic, healthy", "synthetic, leaking", "all"] as const;

/** The same run, seen a little differently. */
const VIEWS: readonly {
  readonly name: string;
  readonly view: (bytes: Float64Array, random: () => number) => Float64Array;
}[] = [
  { name: "last 1 % cut", view: (bytes) => bytes.subarray(0, bytes.length - Math.ceil(bytes.length / 100)) },
  {
    name: "5 % of values missing",
    view: (bytes, random) => bytes.map((value) => (random() < 0.05 ? Number.NaN : value)),
  },
  { name: "every second sample", view: (bytes) => bytes.filter((_, i) => i % 2 === 0) },
];
const THINNED = VIEWS.length - 1;

/** A run and the same run seen a little differently must have the same class. */
export const stability: Part = ({ data, seed, quick }) => {
  const random = seeded(seed + 7);
  const missing = seeded(seed + 8);
  const tally = new Tally();
  const compare = (source: string, bytes: Float64Array, leaked: number): void => {
    const whole = analysisOf(bytes);
    for (const [index, { name: seen, view }] of VIEWS.entries()) {
      const other = analysisOf(view(bytes, missing));
      // A leak below the stated detectable minimum of the poorer series is not a contradiction.
      if (leaked > 0 && other.mde_bytes !== null && leaked < other.mde_bytes) continue;
      if ([whole, other].some((one) => one.class === "insufficient")) continue;
      for (const name of [source, "all"]) {
        tally.add(`${name} ${seen}`, whole.class === other.class);
        if (index !== THINNED || UNDECIDED.has(whole.class) || UNDECIDED.has(other.class)) continue;
        tally.add(`${name} verdict`, (whole.class === "leak") === (other.class === "leak"));
      }
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
      title: "The same run, seen differently",
      note: "Share of series that keep their class. The first column compares only whether every second sample gives a leak, where both are judged and neither is rising. A leak below what the poorer series says it can detect is left out.",
      rows: [
        ["series", "every second sample: same verdict, decided cases", ...VIEWS.map(({ name }) => name)],
        ...SOURCES.map((source) => [
          source,
          describeShare(tally.get(`${source} verdict`)),
          ...VIEWS.map(({ name }) => describeShare(tally.get(`${source} ${name}`))),
        ]),
      ],
    },
  ];
};
