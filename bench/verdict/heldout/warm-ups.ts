import type { Block } from "./caching-allocator.ts";
import type { Behaviour } from "./job.ts";

/** Kernel search in the first steps: workspaces that are tried and given back, one that stays. */
export function autotune(size: number, steps: number): Behaviour {
  return {
    before(machine) {
      if (machine.step >= steps) return;
      const tried = machine.tensors(size * machine.draw.uniform(0.3, 1));
      machine.mark(0.01);
      machine.drop(tried);
      if (machine.draw.chance(2 / steps)) machine.tensors(size * 0.05);
    },
  };
}

/** A cache that fills ever more slowly: what is missing shrinks by 1/`tau` a step. */
export function saturatingCache(total: number, tau: number): Behaviour {
  let filled = 0;
  return {
    after(machine) {
      const next = total * (1 - Math.exp(-(machine.step + 1) / tau));
      if (next - filled < 512) return;
      machine.tensors(next - filled);
      filled = next;
    },
  };
}

/**
 * A schedule that raises the work of a step (batch size, sequence length, with the learning rate) and then holds it.
 */
export function schedule(from: number, rampSteps: number): Behaviour {
  return {
    before(machine) {
      machine.scale *= machine.step < rampSteps ? from + ((1 - from) * machine.step) / rampSteps : 1;
    },
  };
}

/** A cache that fills in a few jumps, one per `at`. */
export function jumps(sizes: readonly number[], at: readonly number[]): Behaviour {
  return {
    before(machine) {
      for (const [i, step] of at.entries()) if (step === machine.step) machine.tensors(sizes[i] ?? 0);
    },
  };
}

/** Least-recently-used cache of fixed capacity: misses fill it, then each miss evicts. */
export function lruCache(capacity: number, entries: number, missesPerStep: number): Behaviour {
  const live: Block[][] = [];
  return {
    after(machine) {
      let misses = Math.floor(missesPerStep);
      if (machine.draw.chance(missesPerStep - misses)) misses++;
      for (let i = 0; i < misses; i++) {
        if (live.length >= entries) machine.drop(live.shift() ?? []);
        live.push(machine.tensors((capacity / entries) * machine.draw.uniform(0.9, 1.1)));
      }
    },
  };
}

/** One plan per distinct input shape, shapes drawn by Zipf's law from `shapes`: a coupon collector with stragglers. */
export function planPerShape(total: number, shapes: number): Behaviour {
  const seen = new Set<number>();
  const weights = Array.from({ length: shapes }, (_, i) => 1 / (i + 1));
  const sum = weights.reduce((a, b) => a + b, 0);
  return {
    before(machine) {
      let left = machine.draw.next() * sum;
      let shape = 0;
      while (shape < shapes - 1 && left > (weights[shape] ?? 0)) left -= weights[shape++] ?? 0;
      if (seen.has(shape)) return;
      seen.add(shape);
      machine.tensors((total / shapes) * machine.draw.uniform(0.5, 1.5));
    },
  };
}

/**
 * A store of all distinct items, of which new ones grow rare: its size grows like the logarithm of the step, without an
 * end.
 */
export function logCache(perFold: number, knee: number): Behaviour {
  let filled = 0;
  return {
    after(machine) {
      const next = perFold * Math.log1p(machine.step / knee);
      if (next - filled < 512) return;
      machine.tensors(next - filled);
      filled = next;
    },
  };
}
