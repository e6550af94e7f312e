import { median } from "../../../src/stats/order-statistics.ts";
import { grown, lateLine, type Rest, restOf } from "../corpus/growth-shapes.ts";
import { describeShare, type Share, shortShare } from "../intervals.ts";
import { seeded } from "../random.ts";
import { analysisOf } from "../rules/ours.ts";
import type { Part } from "./part.ts";

const TRIES = { quick: 120, full: 600 } as const;
const NOISES = [
  { name: "white", phi: 0 },
  { name: "AR(1) .5", phi: 0.5 },
  { name: "AR(1) .9", phi: 0.9 },
] as const;
const LENGTHS = [120, 300, 1000] as const;
/** Standard deviations as shares of the level: the floor decides, both do, the noise does. */
const DEVIATIONS = [0.0005, 0.005, 0.05] as const;
/** Growth over the stated minimum. */
const RATIOS = [1 / 1.3, 1 / 1.15, 1, 1.15] as const;

interface Cell {
  readonly name: string;
  readonly phi: number;
  readonly n: number;
  readonly sd: number;
}

function foundAt({ name, phi, n, sd }: Cell, bytes: number, tries: number, seed: number): Share {
  const random = seeded(seed);
  const line = lateLine(n, 0);
  let hits = 0;
  for (let k = 0; k < tries; k++) {
    const rest: Rest = restOf({ name, phi, sd: [sd, sd] }, n, random);
    hits += Number(analysisOf(grown(rest, line, bytes * rest.level)).class === "leak");
  }
  return { hits, of: tries };
}

/** Median of the minima that runs at rest state, as a share of their level. */
function statedBy({ name, phi, n, sd }: Cell, tries: number, seed: number): number {
  const random = seeded(seed);
  return median(
    Float64Array.from({ length: tries }, () => {
      const rest = restOf({ name, phi, sd: [sd, sd] }, n, random);
      return (analysisOf(rest.values).mde_bytes ?? Number.NaN) / rest.level;
    }),
  );
}

/** Whether a leak of the size that a run states as detectable is found nine times in ten, and a smaller one less. */
export const minimum: Part = ({ quick, seed }) => {
  const tries = quick ? TRIES.quick : TRIES.full;
  const rows = NOISES.flatMap(({ name, phi }) =>
    LENGTHS.flatMap((n) =>
      DEVIATIONS.map((sd) => {
        const cell: Cell = { name, phi, n, sd };
        const stated = statedBy(cell, Math.ceil(tries / 3), seed);
        const found = RATIOS.map((ratio, k) => foundAt(cell, ratio * stated, tries, seed + 17 * k));
        return [
          name,
          String(n),
          `${100 * sd} %`,
          `${(100 * stated).toFixed(1)} %`,
          ...found.map((share, k) => (RATIOS[k] === 1 ? describeShare(share) : shortShare(share))),
        ];
      }),
    ),
  );
  return [
    {
      title: "The stated detectable minimum",
      note: `Levels of 1 to 16 GiB (a floor of 1 % of them, at least 12 MiB). The minimum is the median of what runs at rest state; in the last columns, leaks of that size times a factor, called leak: 90 % at a factor of 1 is right, more at a smaller one means that less could have been stated.`,
      rows: [
        [
          "noise",
          "samples",
          "σ / level",
          "minimum / level",
          ...RATIOS.map((ratio) => `found at × ${ratio.toFixed(2)}`),
        ],
        ...rows,
      ],
    },
  ];
};
