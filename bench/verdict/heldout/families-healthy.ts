import { type Family, type Plan, someFloors, stepAt } from "./family.ts";
import {
  boundedWalk,
  checkpoints,
  evaluations,
  fragmenting,
  garbageCycles,
  hump,
  lengths,
  phase,
  prefetch,
  relief,
  serving,
} from "./healthy-life.ts";
import { activationBytes, type Behaviour } from "./job.ts";
import { autotune, jumps, logCache, lruCache, planPerShape, saturatingCache, schedule } from "./warm-ups.ts";

const MIB = 2 ** 20;

/** Every job begins with this: activations are as large as planned. */
const fixedLength: Behaviour = lengths(() => 1);

function healthy(
  name: string,
  fewestSteps: number,
  behaviours: Family["behaviours"],
  more: Pick<Family, "watch" | "shape"> & { readonly metric?: Family["metric"] } = {},
): Family {
  return { name, truth: "healthy", metric: "allocated", fewestSteps, behaviours, ...more };
}

/**
 * Heavy-tailed input lengths, cut at `longest` times the shortest and shared by all that pads to the longest of a
 * batch.
 */
function heavyTail({ draw }: Plan): Behaviour {
  const exponent = draw.uniform(1.2, 3);
  const longest = draw.uniform(3, 12);
  const grid = draw.pick(0, 0, 8, 32);
  return lengths(() => {
    const length = Math.min(longest, draw.pareto(exponent)) / 2;
    return grid === 0 ? length : Math.ceil(length * grid) / grid;
  });
}

/** Fills or drains within a tenth of the run, so that a recording does not show its filling alone. */
const queueDepth = ({ draw, shape }: Plan, most: number): number =>
  draw.integer(1, Math.max(1, Math.min(most, Math.floor(shape.steps / 20))));

export const HEALTHY: readonly Family[] = [
  healthy("constant, read at step ends", 30, () => [fixedLength], {
    watch: () => ({ mode: "end" }),
  }),
  healthy("saw-tooth, sampling not aligned with steps", 4, () => [fixedLength], {
    watch: () => ({ mode: "clock" }),
  }),
  healthy("gradient accumulation", 8, () => [fixedLength], {
    shape: (draw) => ({ accumulate: draw.integer(2, 16), keepsGradients: false }),
  }),
  healthy("evaluation every k steps", 12, (plan) => {
    const every = plan.draw.integer(3, Math.max(4, Math.floor(plan.shape.steps / 4)));
    const kept = plan.draw.chance(0.5) ? activationBytes(plan.shape) * plan.draw.uniform(0.01, 0.1) : 0;
    return [fixedLength, evaluations(plan.shape, every, plan.draw.integer(1, 6), kept)];
  }),
  healthy("checkpoint spikes", 20, (plan) => {
    const every = plan.draw.integer(4, Math.max(5, Math.floor(plan.shape.steps / 3)));
    return [fixedLength, checkpoints(plan.shape, every, plan.draw.uniform(0, 1))];
  }),
  healthy("variable lengths, heavy tail", 20, (plan) => [heavyTail(plan)]),
  healthy("warm-up: kernel search", 20, (plan) => [
    fixedLength,
    autotune(activationBytes(plan.shape), plan.draw.integer(1, Math.max(2, stepAt(plan, 0.1)))),
  ]),
  healthy(
    "warm-up: late optimizer state",
    20,
    (plan) => {
      const at = plan.draw.integer(1, Math.max(2, stepAt(plan, 0.3)));
      return [fixedLength, jumps([plan.shape.weights * plan.draw.pick(1, 2)], [at])];
    },
    { shape: () => ({ optimizer: 0 }) },
  ),
  healthy("warm-up: cache that saturates", 30, (plan) => [
    fixedLength,
    saturatingCache(someFloors(plan), plan.shape.steps * plan.draw.logUniform(0.01, 0.16)),
  ]),
  healthy("warm-up: schedule of batch or length", 30, (plan) => [
    fixedLength,
    schedule(plan.draw.uniform(0.2, 0.8), Math.max(2, stepAt(plan, plan.draw.uniform(0.05, 0.35)))),
  ]),
  healthy("plan per distinct shape", 40, (plan) => {
    // All but a straggler or two are found in the first half: Zipf's rarest of S comes after about S ln S steps.
    const most = Math.max(3, Math.floor((0.4 * plan.shape.steps) / Math.log(plan.shape.steps) ** 2));
    return [heavyTail(plan), planPerShape(someFloors(plan), plan.draw.integer(3, Math.min(60, most)))];
  }),
  healthy("LRU cache full after the run's half", 60, (plan) => {
    const full = plan.draw.uniform(0.4, 0.7) * plan.shape.steps;
    const entries = plan.draw.integer(12, 200);
    return [fixedLength, lruCache(someFloors(plan), entries, entries / full)];
  }),
  healthy("two-step cache fill", 30, (plan) => {
    const total = someFloors(plan);
    const part = plan.draw.uniform(0.2, 0.8);
    const at = [stepAt(plan, plan.draw.uniform(0.05, 0.45)), stepAt(plan, plan.draw.uniform(0.5, 0.9))];
    return [fixedLength, jumps([total * part, total * (1 - part)], at)];
  }),
  healthy("one late step", 30, (plan) => [
    fixedLength,
    jumps([someFloors(plan)], [stepAt(plan, plan.draw.uniform(0.5, 0.97))]),
  ]),
  healthy("phases that change", 40, (plan) => {
    const { draw } = plan;
    const at = draw.uniform(0.1, 0.6);
    const up = phase(stepAt(plan, at), draw.chance(0.5) ? someFloors(plan) : 512, draw.logUniform(0.5, 2));
    const down = relief(stepAt(plan, at + draw.uniform(0.1, 0.35)), someFloors(plan));
    return draw.chance(0.5) ? [fixedLength, up] : [fixedLength, up, down];
  }),
  healthy("collector of reference cycles", 40, (plan) => {
    const period = plan.draw.logUniform(4, Math.max(5, plan.shape.steps / 8));
    return [fixedLength, garbageCycles(someFloors(plan) / period, period)];
  }),
  healthy("fragmentation", 30, (plan) => [heavyTail(plan), fragmenting(someFloors(plan), plan.draw.integer(20, 60))]),
  healthy("bounded random walk", 60, (plan) => [
    fixedLength,
    boundedWalk(someFloors(plan), plan.shape.steps * plan.draw.logUniform(0.005, 0.1)),
  ]),
  healthy("drift that reverts", 60, (plan) => {
    const from = plan.draw.uniform(0, 0.3);
    const until = plan.draw.uniform(from + 0.4, 0.85);
    const top = plan.draw.uniform(from + 0.15, until - 0.05);
    return [fixedLength, hump(someFloors(plan), stepAt(plan, from), stepAt(plan, top), stepAt(plan, until))];
  }),
  healthy(
    "inference server",
    120,
    (plan) => {
      const slots = plan.draw.integer(2, 24);
      // Lives of a thirtieth of the run: by a sixth of it the server is as full as it will be.
      const tokens = plan.draw.uniform(4, plan.shape.steps / 30);
      const arrivals = Math.min(1, (slots * plan.draw.uniform(0.3, 1.5)) / tokens);
      return [fixedLength, serving((4 * someFloors(plan)) / (slots * tokens), arrivals, tokens, slots)];
    },
    { shape: () => ({ training: false }) },
  ),
  healthy(
    "host: prefetching loader, page noise",
    20,
    (plan) => [fixedLength, prefetch(plan.draw.logUniform(1, 400) * MIB, queueDepth(plan, 32))],
    { metric: "host", watch: (draw) => ({ columns: draw.pick("host", "all") }) },
  ),
  healthy(
    "host: checkpoints and loader",
    20,
    (plan) => [
      fixedLength,
      checkpoints(plan.shape, plan.draw.integer(5, Math.max(6, Math.floor(plan.shape.steps / 3))), 0),
      prefetch(plan.draw.logUniform(1, 100) * MIB, queueDepth(plan, 16)),
    ],
    { metric: "host", watch: (draw) => ({ columns: draw.pick("host", "all") }) },
  ),
  healthy("several at once", 80, (plan) => [
    heavyTail(plan),
    saturatingCache(someFloors(plan), plan.shape.steps * plan.draw.logUniform(0.01, 0.1)),
    evaluations(plan.shape, plan.draw.integer(5, Math.floor(plan.shape.steps / 4)), 2, 0),
    checkpoints(plan.shape, plan.draw.integer(7, Math.floor(plan.shape.steps / 3)), 0.5),
    garbageCycles(someFloors(plan) / 200, plan.draw.integer(4, Math.floor(plan.shape.steps / 10))),
  ]),
];

/**
 * Growth without an end inside the run: the run alone cannot distinguish it from a leak. Shown, never counted as false.
 */
export const AMBIGUOUS: readonly Family[] = [
  {
    name: "cache that grows like the logarithm",
    truth: "ambiguous",
    metric: "allocated",
    fewestSteps: 60,
    behaviours: (plan) => {
      const knee = plan.shape.steps * plan.draw.logUniform(0.01, 0.5);
      return [fixedLength, logCache(someFloors(plan) / Math.log1p(plan.shape.steps / knee), knee)];
    },
  },
  {
    name: "LRU cache not full at the end",
    truth: "ambiguous",
    metric: "allocated",
    fewestSteps: 60,
    behaviours: (plan) => {
      const entries = plan.draw.integer(12, 200);
      return [fixedLength, lruCache(someFloors(plan), entries, entries / (plan.shape.steps * 1.2))];
    },
  },
];
