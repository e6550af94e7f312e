import { HEALTHY, LEAKING, runProgram } from "../corpus/synthetic.ts";
import { describeShare, shortShare, Tally } from "../intervals.ts";
import { seeded } from "../random.ts";
import type { Part } from "./part.ts";

const LENGTHS = [60, 120, 300, 600] as const;

/** Programs on the allocator model; what they keep is known. */
export const synthetic: Part = ({ seed, quick, rules }) => {
  const tally = new Tally();
  const rounds = quick ? 10 : 50;
  const shapes = [
    ...Object.entries(HEALTHY).map(([name, workload]) => ({ name, workload, leaks: false })),
    ...Object.entries(LEAKING).map(([name, workload]) => ({ name, workload, leaks: true })),
  ];
  for (const [index, { name, workload, leaks }] of shapes.entries()) {
    const random = seeded(seed + 101 * index);
    for (const steps of LENGTHS) {
      for (let round = 0; round < rounds; round++) {
        const run = runProgram(workload, steps, random);
        for (const rule of rules) {
          const leak = rule.judge(run.allocated, "level") === "leak";
          tally.add(`${rule.name} ${leaks}`, leak);
          tally.add(`${rule.name} ${name} ${leaks}`, leak);
          if (!leaks) tally.add(`${rule.name} reserved`, rule.judge(run.reserved, "highwater") === "leak");
        }
      }
    }
  }
  const detail = rules.slice(0, 2);
  return [
    {
      title: "Synthetic programs on a caching-allocator model",
      note: `${Object.keys(HEALTHY).length} healthy and ${Object.keys(LEAKING).length} leaking programs, ${LENGTHS.join(", ")} steps; a leak grows by 2 to 12 times what is material.`,
      rows: [
        ["rule", "allocated: false leak", "allocated: recall", "reserved: false leak"],
        ...rules.map(({ name }) => [
          name,
          describeShare(tally.get(`${name} false`)),
          describeShare(tally.get(`${name} true`)),
          describeShare(tally.get(`${name} reserved`)),
        ]),
      ],
    },
    {
      title: "By program",
      note: "Share called leak.",
      rows: [
        ["workload", ...detail.map(({ name }) => name)],
        ...shapes.map(({ name, leaks }) => [
          `${leaks ? "leak: " : ""}${name}`,
          ...detail.map((rule) => shortShare(tally.get(`${rule.name} ${name} ${leaks}`))),
        ]),
      ],
    },
  ];
};
