import { materialChange } from "../../../src/analysis/trend/materiality.ts";
import { median } from "../../../src/stats/order-statistics.ts";
import { injection, LEAK_SHAPES, type LeakShape } from "../corpus/inject.ts";
import { readRealSeries } from "../corpus/real.ts";
import { describeShare, shortShare, Tally } from "../intervals.ts";
import { seeded } from "../random.ts";
import type { Part } from "./part.ts";

const MIN_POINTS = 24;
/** Fewer stairs than this are a step or two: they cannot be distinguished from jumps, and are not generated. */
const MIN_STAIRS = 4;
const GROWTHS = [0.02, 0.05, 0.1, 0.2] as const;
const STAIRS = LEAK_SHAPES.filter((shape) => shape.includes("stairs"));
const FAMILIES: readonly (readonly [name: string, shapes: readonly LeakShape[]])[] = [
  ["linear", ["linear"]],
  ["stairs", STAIRS],
  ["saw-tooth", ["under a saw-tooth"]],
  ["late onset", ["late onset"]],
];

const share = (growth: number) => `${Math.round(100 * growth)} %`;

/** Known leaks on top of real healthy level series. */
export const injected: Part = ({ data, seed, quick, rules }) => {
  const series = readRealSeries(data).filter(({ kind, bytes }) => kind === "level" && bytes.length >= MIN_POINTS);
  const random = seeded(seed);
  const tally = new Tally();
  let unasked = 0;
  for (let round = 0; round < (quick ? 1 : 3); round++) {
    for (const [index, { bytes }] of series.entries()) {
      const level = median(bytes);
      const floor = materialChange(level, { metric: "allocated", device: "cuda:0" });
      for (const growth of GROWTHS) {
        for (const [family, shapes] of FAMILIES) {
          const shape = shapes[(index + round) % shapes.length]!;
          const leak = injection(shape, bytes.length, growth * level, random);
          if (leak.stairs !== null && leak.stairs < MIN_STAIRS) {
            unasked++;
            continue;
          }
          const values = bytes.map((value, i) => value + leak.values[i]!);
          tally.add(`material ${growth} ${family}`, leak.growth > floor);
          for (const rule of rules) {
            const answer = rule.judge(values, "level");
            const seen = answer === "leak";
            tally.add(`${rule.name} ${growth} ${family}`, seen || (family === "late onset" && answer === "rising"));
            if (family !== "late onset") tally.add(`${rule.name} ${growth}`, seen);
            if (growth >= 0.05)
              tally.add(`${rule.name} ${family}`, seen || (family === "late onset" && answer === "rising"));
            if (rule !== rules[0] || leak.growth <= floor) continue;
            const alarm = seen || answer === "rising";
            for (const key of [family === "late onset" ? null : growth, growth >= 0.05 ? family : null]) {
              if (key === null) continue;
              tally.add(`above leak ${key}`, family === "late onset" ? alarm : seen);
              tally.add(`above alarm ${key}`, alarm);
            }
          }
        }
      }
    }
  }
  const detail = rules.slice(0, 2);
  const row = (name: string, prefix: string): string[] => [
    name,
    ...GROWTHS.map((growth) => shortShare(tally.get(`${prefix}${growth}`))),
    ...FAMILIES.map(([family]) => shortShare(tally.get(`${prefix}${family}`))),
  ];
  return [
    {
      title: "Leaks injected into real series",
      note: `${series.length} healthy level series of at least ${MIN_POINTS} points; linear, stairs (2 and 20 MiB, even and random) and under a saw-tooth in equal parts. Share called leak, by total growth in percent of the level; late onset (60 to 80 % of the run) counts leak or rising and stands apart. ${unasked} draws of fewer than ${MIN_STAIRS} stairs were left out: they are steps.`,
      rows: [
        ["rule", ...GROWTHS.map(share), ...FAMILIES.map(([family]) => `≥ 5 %: ${family}`)],
        ...rules.flatMap(({ name }, at) => [
          row(name, `${name} `),
          ...(at === 0
            ? [row(`${name}, above its floor`, "above leak "), row(`${name}, above it, leak or rising`, "above alarm ")]
            : []),
        ]),
      ],
    },
    {
      title: "The same in full",
      note: "Growth below the floor of max(12 MiB, 1 % of the level) is not a leak without a horizon: the first line of each size is what could be found at all.",
      rows: [
        ["growth", "", ...FAMILIES.map(([family]) => family)],
        ...GROWTHS.flatMap((growth) => [
          [
            share(growth),
            "above the floor",
            ...FAMILIES.map(([family]) => shortShare(tally.get(`material ${growth} ${family}`))),
          ],
          ...detail.map(({ name }) => [
            share(growth),
            name,
            ...FAMILIES.map(([family]) => describeShare(tally.get(`${name} ${growth} ${family}`))),
          ]),
        ]),
      ],
    },
  ];
};
