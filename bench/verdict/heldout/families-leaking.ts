import { type Family, leakingEvaluation, type Plan, someFloors, stepAt } from "./family.ts";
import { checkpoints, evaluations, garbageCycles, lengths, prefetch } from "./healthy-life.ts";
import { activationBytes, type Behaviour } from "./job.ts";
import { everyEpoch, everyStep, hostEveryStep, lateOnset, onException, pinnedFragments, stairs } from "./leaks.ts";
import { autotune, saturatingCache } from "./warm-ups.ts";

const MIB = 2 ** 20;
const fixedLength: Behaviour = lengths(() => 1);

/** Ordinary life beside the leak: some warm-up, and in half of the runs evaluation or checkpoints. */
function life(plan: Plan): readonly Behaviour[] {
  const { draw, shape } = plan;
  const warmUp = draw.pick(
    () => [],
    () => [autotune(activationBytes(shape), Math.max(1, stepAt(plan, 0.03)))],
    () => [saturatingCache(someFloors(plan), shape.steps * draw.logUniform(0.005, 0.05))],
  );
  const every = draw.integer(5, Math.max(6, Math.floor(shape.steps / 8)));
  const now = draw.pick(
    () => [],
    () => [],
    () => [evaluations(shape, every, 2, 0)],
    () => [checkpoints(shape, every, 0.5)],
  );
  return [fixedLength, ...warmUp(), ...now()];
}

function leaking(
  name: string,
  fewestSteps: number,
  leak: (plan: Plan, total: number) => Behaviour,
  more: Pick<Family, "watch" | "shape"> & { readonly metric?: Family["metric"] } = {},
): Family {
  return {
    name,
    truth: "leak",
    metric: "allocated",
    fewestSteps,
    behaviours: (plan) => [...life(plan), leak(plan, someFloors(plan))],
    ...more,
  };
}

export const LEAKING: readonly Family[] = [
  leaking("every step", 40, ({ draw, shape }, total) => everyStep(total, shape.steps, draw.pick(0, 0.5, 1))),
  leaking("stairs of one tensor", 60, ({ draw, shape }, total) =>
    stairs(total, total / draw.integer(8, Math.min(80, Math.floor(shape.steps / 3))), shape.steps),
  ),
  leaking("once an epoch", 120, ({ draw, shape }, total) =>
    everyEpoch(total, draw.integer(8, Math.min(40, Math.floor(shape.steps / 10))), shape),
  ),
  leaking("under a saw-tooth, sampling not aligned", 60, ({ shape }, total) => everyStep(total, shape.steps, 0), {
    watch: () => ({ mode: "clock" }),
  }),
  leaking("only in evaluation", 120, ({ draw, shape }, total) => {
    const times = draw.integer(8, Math.min(40, Math.floor(shape.steps / 6)));
    const every = Math.floor(shape.steps / times);
    return leakingEvaluation(shape, every, draw.integer(1, 4), total / Math.floor(shape.steps / every));
  }),
  leaking("on the path of an exception", 120, ({ draw, shape }, total) =>
    onException(total, draw.integer(12, Math.min(80, Math.floor(shape.steps / 3))), shape.steps),
  ),
  leaking("late onset", 120, (plan, total) =>
    lateOnset(total, stepAt(plan, plan.draw.uniform(0.45, 0.75)), plan.shape.steps),
  ),
  leaking("small tensors that pin segments", 60, ({ shape }, total) => pinnedFragments(total, shape.steps)),
  {
    ...leaking("beside a collector's saw-tooth", 120, ({ shape }, total) => everyStep(total, shape.steps, 0.5)),
    behaviours: (plan) => {
      const period = plan.draw.logUniform(4, plan.shape.steps / 14);
      return [
        fixedLength,
        garbageCycles(someFloors(plan) / period, period),
        everyStep(someFloors(plan), plan.shape.steps, 0.5),
      ];
    },
  },
  {
    name: "host, every step",
    truth: "leak",
    metric: "host",
    fewestSteps: 40,
    watch: (draw) => ({ columns: draw.pick("host", "all"), withLoading: false }),
    behaviours: ({ draw, shape, hostFloor }) => [
      fixedLength,
      prefetch(draw.logUniform(0.5, 8) * MIB, draw.integer(1, 8)),
      hostEveryStep(hostFloor * draw.logUniform(1.5, 20), shape.steps),
    ],
  },
];
