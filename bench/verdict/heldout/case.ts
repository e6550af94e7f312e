import type { Recording } from "../../../src/telemetry/recording/model.ts";
import { Draw, seedOf } from "./draw.ts";
import { AMBIGUOUS, HEALTHY } from "./families-healthy.ts";
import { LEAKING } from "./families-leaking.ts";
import { type Family, planOf } from "./family.ts";
import { runJob } from "./job.ts";
import { Machine } from "./machine.ts";
import { recordingOf, watched } from "./recorder.ts";

export const FAMILIES: readonly Family[] = [...HEALTHY, ...LEAKING, ...AMBIGUOUS];

/** A recording whose truth is known by construction. */
export interface HeldOutCase {
  readonly family: Family;
  readonly seed: number;
  readonly recording: Recording;
  /** Which rank leaks, where one does. */
  readonly rank: number;
  /** Bytes leaked between the first and the last row of that rank. */
  readonly leaked: number;
  /** Description of how it was recorded. */
  readonly how: string;
}

/** Case `index` of a family: the same arguments give the same bytes. One in five has a second, healthy rank. */
export function heldOutCase(seed: number, family: Family, index: number): HeldOutCase {
  const caseSeed = seedOf("held out", seed, family.name, index);
  const draw = new Draw(caseSeed);
  const plan = planOf(family, draw);
  const ranks = draw.chance(0.2) ? 2 : 1;
  const guilty = draw.integer(0, ranks - 1);
  let leaked = 0;
  const tables = Array.from({ length: ranks }, (_, rank) => {
    const machine = new Machine(draw, plan.hostBase, plan.hostSpread);
    const bystander = family.truth !== "healthy" && rank !== guilty;
    runJob(machine, plan.shape, bystander ? BYSTANDER : family.behaviours(plan));
    const seen = watched(machine.trace(), plan.watch, rank, draw);
    if (rank === guilty) leaked = seen.leaked;
    return seen.tables;
  });
  const { mode, rows, stepsKnown, missing, irregular, columns } = plan.watch;
  const how = `${mode}${mode === "clock" ? ` ${rows} rows${stepsKnown ? " with steps" : ""}` : ""}, ${plan.shape.steps} steps, missing ${missing}, irregular ${irregular}, ${columns}, ${ranks} rank(s)`;
  return { family, seed: caseSeed, recording: recordingOf(tables.flat(), ranks), rank: guilty, leaked, how };
}

const BYSTANDER = [
  {
    before(machine: Machine) {
      machine.scale = 1;
    },
  },
];
