import { type Behaviour, evaluate, type JobShape } from "./job.ts";

/** Leaks, each of `total` bytes over the whole run. */

export function everyStep(total: number, steps: number, jitter: number): Behaviour {
  return {
    after(machine) {
      machine.leak((total / steps) * machine.draw.uniform(1 - jitter, 1 + jitter));
    },
  };
}

/** A piece of `size` bytes every so many steps. */
export function stairs(total: number, size: number, steps: number): Behaviour {
  const every = (steps * size) / total;
  let due = every / 2;
  return {
    after(machine) {
      if (machine.step < due) return;
      machine.leak(size);
      due += every;
    },
  };
}

/** Something kept at the end of each of `epochs` epochs; the evaluation between epochs is what leaks. */
export function everyEpoch(total: number, epochs: number, shape: JobShape): Behaviour {
  const length = Math.floor(shape.steps / epochs);
  return {
    after(machine) {
      if ((machine.step + 1) % length !== 0) return;
      evaluate(machine, shape, 2, 0);
      machine.leak(total / epochs);
    },
  };
}

/** The path an error takes: comes at random, `count` times on average, and keeps a batch of random size. */
export function onException(total: number, count: number, steps: number): Behaviour {
  return {
    after(machine) {
      if (machine.draw.chance(count / steps)) machine.leak((total / count) * machine.draw.uniform(0.6, 1.4));
    },
  };
}

export function lateOnset(total: number, onset: number, steps: number): Behaviour {
  return {
    after(machine) {
      if (machine.step >= onset) machine.leak(total / (steps - onset));
    },
  };
}

/** Small tensors that stay among many that go: each pins its segment. */
export function pinnedFragments(total: number, steps: number): Behaviour {
  const size = Math.min(900_000, Math.max(2048, total / steps));
  const perStep = total / steps / size;
  return {
    after(machine) {
      let pieces = Math.floor(perStep);
      if (machine.draw.chance(perStep - pieces)) pieces++;
      for (let i = 0; i < pieces; i++) {
        const passing = [machine.device.alloc(size * 0.7), machine.device.alloc(size * 0.9)];
        machine.leak(size);
        machine.drop(passing);
      }
    },
  };
}

export function hostEveryStep(total: number, steps: number): Behaviour {
  return {
    after(machine) {
      machine.leakHost(total / steps);
    },
  };
}
