import type { Draw } from "./draw.ts";
import { activationBytes, type Behaviour, evaluate, type JobShape, residentBytes } from "./job.ts";
import type { Watch } from "./recorder.ts";

const MIB = 2 ** 20;
const GIB = 2 ** 30;

/** One job as a family plans it, before anything is added to it. */
export interface Plan {
  readonly draw: Draw;
  readonly shape: JobShape;
  readonly watch: Watch;
  readonly hostBase: number;
  readonly hostSpread: number;
  /** Growth from which a leak matters on this device by a floor of the larger of 16 MiB and 1 % of the level. */
  readonly floor: number;
  readonly hostFloor: number;
}

export interface Family {
  readonly name: string;
  /** What is true by construction. `ambiguous`: grows all through the run and never rests, though it would one day. */
  readonly truth: "healthy" | "leak" | "ambiguous";
  /** Which series carries the truth. */
  readonly metric: "allocated" | "host";
  /** Minimum number of steps for which the recording shows the truth. */
  readonly fewestSteps: number;
  readonly watch?: (draw: Draw) => Partial<Watch>;
  readonly shape?: (draw: Draw) => Partial<JobShape>;
  readonly behaviours: (plan: Plan) => readonly Behaviour[];
}

const ROWS = { fewest: 30, most: 3000 } as const;

function drawWatch(draw: Draw): Watch {
  return {
    mode: draw.pick("end", "end", "any", "peak", "clock", "clock", "clock"),
    rows: Math.round(draw.logUniform(ROWS.fewest, ROWS.most)),
    stepsKnown: draw.chance(0.4),
    withLoading: draw.chance(0.3),
    missing: draw.pick(0, 0, 0, 0.01, 0.05, 0.15),
    irregular: draw.pick(0, 0.1, 0.1, 1),
    columns: draw.pick("device", "all", "allocated"),
  };
}

function drawShape(draw: Draw, steps: number): JobShape {
  const weights = draw.logUniform(40 * MIB, 12 * GIB);
  const activations = weights * draw.logUniform(0.1, 4);
  const count = draw.integer(3, 8);
  return {
    steps,
    stepSeconds: draw.logUniform(0.05, 2),
    weights,
    optimizer: draw.pick(0, 1, 2, 2),
    layers: Array.from({ length: count }, () => (activations / count) * draw.uniform(0.5, 1.5)),
    accumulate: draw.pick(1, 1, 1, 2, 4, 8),
    training: true,
    keepsGradients: draw.chance(0.3),
  };
}

/**
 * Steps a run must have to fill the rows: as many by the step; by the clock between a third of a row and fifteen rows a
 * step.
 */
function stepsFor(watch: Watch, draw: Draw, fewest: number): number {
  if (watch.mode !== "clock") return Math.max(watch.rows, fewest);
  const rowsPerStep = draw.logUniform(0.33, 15);
  return Math.min(ROWS.most, Math.max(fewest, Math.round(watch.rows / rowsPerStep)));
}

/** Draws a job for a family: everything it does not fix itself is left to chance. */
export function planOf(family: Family, draw: Draw): Plan {
  const watch: Watch = { ...drawWatch(draw), ...family.watch?.(draw) };
  const steps = stepsFor(watch, draw, family.fewestSteps);
  const shape: JobShape = { ...drawShape(draw, steps), ...family.shape?.(draw) };
  const seen = watch.mode === "end" ? 0 : watch.mode === "peak" ? 1 : 0.5;
  const level = residentBytes(shape) + seen * activationBytes(shape);
  const hostBase = draw.logUniform(0.5 * GIB, 24 * GIB);
  return {
    draw,
    shape,
    watch,
    hostBase,
    hostSpread: draw.logUniform(0.1, 12) * MIB,
    floor: Math.max(16 * MIB, 0.01 * level),
    hostFloor: Math.max(16 * MIB, 0.01 * hostBase),
  };
}

/** Step numbers at a share of the run. */
export const stepAt = ({ shape }: Plan, share: number): number => Math.round(share * shape.steps);

/** A size between 1.5 and 20 floors, every factor equally likely: what positives leak and what negatives rise by. */
export const someFloors = ({ draw, floor }: Plan): number => floor * draw.logUniform(1.5, 20);

/** An evaluation that keeps `leaked` bytes for ever after each time it ran. */
export function leakingEvaluation(shape: JobShape, every: number, batches: number, leaked: number): Behaviour {
  return {
    after(machine) {
      if ((machine.step + 1) % every !== 0) return;
      evaluate(machine, shape, batches, 0);
      machine.leak(leaked);
    },
  };
}
