import type { Block } from "./caching-allocator.ts";
import { type Behaviour, evaluate, type JobShape } from "./job.ts";
import type { Machine } from "./machine.ts";

/** A pool of tensors brought to a wanted size before every step. */
function follow(wanted: (machine: Machine) => number): Behaviour {
  let held: Block[] = [];
  return {
    before(machine) {
      machine.drop(held);
      held = machine.tensors(Math.max(512, wanted(machine)));
    },
  };
}

/** Redraws the factor on activations each step. The first behaviour of every job. */
export function lengths(factor: (machine: Machine) => number): Behaviour {
  return {
    before(machine) {
      machine.scale = factor(machine);
    },
  };
}

export function evaluations(
  shape: JobShape,
  every: number,
  batches: number,
  kept: number,
  then?: (machine: Machine) => void,
): Behaviour {
  return {
    after(machine) {
      if ((machine.step + 1) % every !== 0) return;
      evaluate(machine, shape, batches, kept);
      then?.(machine);
    },
  };
}

/** A state dictionary copied to the host (and in part on the device), written out, dropped. */
export function checkpoints(shape: JobShape, every: number, onDevice: number): Behaviour {
  return {
    after(machine) {
      if ((machine.step + 1) % every !== 0) return;
      const copy = machine.tensors(shape.weights * onDevice);
      machine.heap.hold(shape.weights);
      machine.mark(shape.stepSeconds * machine.draw.uniform(0.2, 1.5));
      machine.drop(copy);
      machine.heap.hold(-shape.weights);
    },
  };
}

/** Tensors in reference cycles: unreachable, but held until Python's collector runs, after a random number of steps. */
export function garbageCycles(perStep: number, meanPeriod: number): Behaviour {
  const dead: Block[][] = [];
  let left = 0;
  return {
    start(machine) {
      left = 1 + machine.draw.exponential(meanPeriod / 2);
    },
    after(machine) {
      dead.push(machine.tensors(perStep * machine.draw.uniform(0.5, 1.5)));
      if (--left > 0) return;
      for (const blocks of dead.splice(0)) machine.drop(blocks);
      left = 1 + meanPeriod * machine.draw.uniform(0.5, 1) + machine.draw.exponential(meanPeriod / 4);
    },
  };
}

/** Batches waiting between loader and training: a queue that fills and drains within its depth, in host memory. */
export function prefetch(batch: number, depth: number): Behaviour {
  let queued = 0;
  let supply: number | null = null;
  return {
    before(machine) {
      // Loaders are either faster than the training or not, and that changes at random.
      if (supply === null || machine.draw.chance(0.05)) supply = machine.draw.uniform(0.5, 3);
      const made = Math.floor(supply + machine.draw.next());
      const next = Math.min(depth, Math.max(0, queued - 1 + made));
      machine.heap.hold((next - queued) * batch);
      queued = next;
    },
  };
}

/**
 * Long-lived survivors of random size, oldest replaced first: the live set is bounded, the holes between them almost.
 */
export function fragmenting(live: number, count: number): Behaviour {
  const survivors: Block[] = [];
  return {
    after(machine) {
      for (let i = 0; i < 3; i++) {
        if (survivors.length >= count) {
          const [old] = survivors.splice(machine.draw.integer(0, Math.min(count - 1, 8)), 1);
          if (old !== undefined) machine.drop([old]);
        }
        survivors.push(machine.device.alloc(machine.draw.logUniform(0.2, 2) * (live / count)));
      }
    },
  };
}

/** Walks up and down between 0 and `range`; crosses it in about `mixing` steps. */
export function boundedWalk(range: number, mixing: number): Behaviour {
  let at = 0;
  let begun = false;
  return follow(({ draw }) => {
    if (!begun) at = draw.next() * range;
    begun = true;
    at += (range / Math.sqrt(mixing)) * draw.normal();
    at = Math.abs(at);
    at = at > range ? Math.max(0, 2 * range - at) : at;
    return at;
  });
}

/** Rises between two steps and is given back until a third: a backlog that is worked off. */
export function hump(height: number, from: number, top: number, until: number): Behaviour {
  return follow(({ step, draw }) => {
    const rise = (step - from) / (top - from);
    const fall = (until - step) / (until - top);
    return height * Math.max(0, Math.min(rise, fall)) + draw.uniform(0, height * 0.01);
  });
}

/**
 * A job that becomes another one: from `at` on `extra` bytes more live between steps and activations are `factor` as
 * large.
 */
export function phase(at: number, extra: number, factor: number): Behaviour {
  let changed = false;
  return {
    before(machine) {
      if (machine.step < at) return;
      if (!changed) machine.tensors(extra);
      changed = true;
      machine.scale *= factor;
    },
  };
}

/** Ballast that is dropped once: unloading, freezing, a smaller optimizer. */
export function relief(at: number, bytes: number): Behaviour {
  let held: Block[] | null = null;
  return {
    start(machine) {
      held = machine.tensors(bytes);
    },
    before(machine) {
      if (machine.step < at || held === null) return;
      machine.drop(held);
      held = null;
    },
  };
}

/**
 * Requests that come at random, grow a token a step and leave when done: attention caches of a server with `slots`
 * places.
 */
export function serving(bytesPerToken: number, arrivals: number, meanTokens: number, slots: number): Behaviour {
  const requests: { left: number; tokens: number; cache: Block }[] = [];
  return {
    before(machine) {
      const { draw, device } = machine;
      if (requests.length < slots && draw.chance(arrivals)) {
        const tokens = draw.integer(8, 64);
        requests.push({ left: draw.exponential(meanTokens), tokens, cache: device.alloc(tokens * bytesPerToken) });
      }
      for (let i = requests.length - 1; i >= 0; i--) {
        const request = requests[i];
        if (request === undefined) continue;
        device.release(request.cache);
        if (--request.left <= 0) requests.splice(i, 1);
        else request.cache = device.alloc(++request.tokens * bytesPerToken);
      }
    },
  };
}
