import { MIB } from "../../../src/core/units.ts";
import { normal } from "../random.ts";
import { type Block, CachingAllocator } from "./allocator.ts";

/** A program that trains for some steps on the allocator model. Sizes in bytes. */
interface Program {
  /** Called before every step; keeps and releases memory that outlives the step. */
  readonly keep: (step: number) => void;
}

interface Setting {
  readonly allocator: CachingAllocator;
  readonly steps: number;
  readonly random: () => number;
  /** Model and optimizer, bytes. */
  readonly level: number;
  /** A material amount at this level: the larger of 16 MiB and 1 %. */
  readonly material: number;
}

/** Memory that is resized in tensors of 0.2 to 6 MiB. */
class Pile {
  readonly #blocks: Block[] = [];
  #bytes = 0;
  readonly #allocator: CachingAllocator;
  readonly #random: () => number;

  constructor({ allocator, random }: Setting) {
    this.#allocator = allocator;
    this.#random = random;
  }

  resize(bytes: number): void {
    while (this.#bytes > bytes) {
      const block = this.#blocks.pop();
      if (!block) return;
      this.#bytes -= block.size;
      this.#allocator.release(block);
    }
    while (this.#bytes < bytes) {
      const size = Math.min(bytes - this.#bytes, (0.2 + 5.8 * this.#random()) * MIB);
      const block = this.#allocator.malloc(size);
      this.#blocks.push(block);
      this.#bytes += block.size;
    }
  }
}

type Workload = (setting: Setting) => Program;

const between = (random: () => number, low: number, high: number) => low + (high - low) * random();

const still: Workload = () => ({ keep: () => undefined });

/** A buffer whose size is redrawn each step, autocorrelated. */
const jitter =
  (phi: number): Workload =>
  (setting) => {
    const pile = new Pile(setting);
    const sigma = between(setting.random, 0.2, 3) * setting.material;
    let noise = 0;
    return {
      keep: () => {
        noise = phi * noise + Math.sqrt(1 - phi * phi) * normal(setting.random);
        pile.resize(Math.max(0, (4 + noise) * sigma));
      },
    };
  };

/** Approaches a level exponentially: lazy state, growing caches. */
const warmUp: Workload = (setting) => {
  const pile = new Pile(setting);
  const size = between(setting.random, 3, 30) * setting.material;
  const tau = between(setting.random, 0.01, 0.12) * setting.steps;
  return { keep: (step) => pile.resize(size * (1 - Math.exp(-step / tau))) };
};

/** A cache that fills evenly until it is full, in the first half. */
const boundedCache: Workload = (setting) => {
  const pile = new Pile(setting);
  const size = between(setting.random, 2, 15) * setting.material;
  const full = between(setting.random, 0.15, 0.5) * setting.steps;
  return { keep: (step) => pile.resize(size * Math.min(1, step / full)) };
};

const jumps =
  (count: number): Workload =>
  (setting) => {
    const pile = new Pile(setting);
    const at = Array.from({ length: count }, () => between(setting.random, 0.1, 0.9) * setting.steps);
    const sizes = at.map(() => between(setting.random, 1.5, 8) * setting.material);
    return { keep: (step) => pile.resize(at.reduce((sum, when, k) => sum + (step >= when ? sizes[k]! : 0), 0)) };
  };

/** Results gathered and given up every so many steps; the length of a cycle varies where `loose`. */
const cycle =
  (loose: number): Workload =>
  (setting) => {
    const pile = new Pile(setting);
    const size = between(setting.random, 1.5, 10) * setting.material;
    const usual = between(setting.random, 4, setting.steps / 10);
    let length = usual;
    let into = setting.random() * usual;
    return {
      keep: () => {
        into += 1;
        if (into > length) {
          into -= length;
          length = Math.max(2, usual * (1 + loose * normal(setting.random)));
        }
        pile.resize((size * into) / length);
      },
    };
  };

/** Every so often some steps of evaluation need more. */
const evaluation: Workload = (setting) => {
  const pile = new Pile(setting);
  const size = between(setting.random, 2, 12) * setting.material;
  const every = Math.round(between(setting.random, 8, setting.steps / 6));
  const lasts = Math.max(1, Math.round(every * between(setting.random, 0.05, 0.3)));
  return { keep: (step) => pile.resize(step % every >= every - lasts ? size : 0) };
};

/** Two steps, so that every second sample still sees it. */
const spike: Workload = (setting) => {
  const pile = new Pile(setting);
  const at = Math.floor(between(setting.random, 0.2, 0.95) * setting.steps);
  return { keep: (step) => pile.resize(step === at || step === at + 1 ? 12 * setting.material : 0) };
};

const both =
  (first: Workload, second: Workload): Workload =>
  (setting) => {
    const programs = [first(setting), second(setting)];
    return {
      keep: (step) => {
        for (const program of programs) program.keep(step);
      },
    };
  };

/** Total growth of every leak: two to twelve times what is material. */
const growthOf = ({ random, material }: Setting) => between(random, 2, 12) * material;

const steadyLeak: Workload = (setting) => {
  const pile = new Pile(setting);
  const growth = growthOf(setting);
  return { keep: (step) => pile.resize((growth * step) / (setting.steps - 1)) };
};

/** One tensor kept every so many steps. */
const tensorLeak: Workload = (setting) => {
  const growth = growthOf(setting);
  const count = Math.round(between(setting.random, 10, 60));
  let kept = 0;
  return {
    keep: (step) => {
      while (kept < (count * step) / setting.steps) {
        setting.allocator.malloc(growth / count);
        kept++;
      }
    },
  };
};

/** Kept at random steps, in random amounts. */
const randomLeak: Workload = (setting) => {
  const growth = growthOf(setting);
  const mean = growth / 40;
  const chance = 40 / setting.steps;
  return {
    keep: () => {
      for (let k = chance; k > 0; k -= 1) {
        if (setting.random() < Math.min(1, k)) setting.allocator.malloc(mean * between(setting.random, 0.5, 1.5));
      }
    },
  };
};

export const HEALTHY: Readonly<Record<string, Workload>> = {
  constant: still,
  "white jitter": jitter(0),
  "AR(1) 0.9 jitter": jitter(0.9),
  "warm-up": warmUp,
  "bounded cache": boundedCache,
  "one jump": jumps(1),
  "two jumps": jumps(2),
  "regular saw-tooth": cycle(0),
  "irregular saw-tooth": cycle(0.2),
  "evaluation phases": evaluation,
  "one spike": spike,
};

export const LEAKING: Readonly<Record<string, Workload>> = {
  steady: steadyLeak,
  "a tensor now and then": tensorLeak,
  random: randomLeak,
  "under a regular saw-tooth": both(cycle(0), steadyLeak),
  "under an irregular saw-tooth": both(cycle(0.2), steadyLeak),
  "after a warm-up": both(warmUp, steadyLeak),
  "with evaluation phases": both(evaluation, tensorLeak),
};

export interface Run {
  /** Level at the end of each step. */
  readonly allocated: Float64Array;
  readonly reserved: Float64Array;
}

/** Steps × a dozen activations on the allocator model, with the memory that the workload keeps. */
export function runProgram(workload: Workload, steps: number, random: () => number): Run {
  const allocator = new CachingAllocator();
  const level = Math.exp(between(random, Math.log(300), Math.log(6000))) * MIB;
  for (let left = level; left > 0; ) {
    const size = Math.min(left, between(random, 1, 60) * MIB);
    allocator.malloc(size);
    left -= size;
  }
  const program = workload({ allocator, steps, random, level, material: Math.max(16 * MIB, 0.01 * level) });
  const allocated = new Float64Array(steps);
  const reserved = new Float64Array(steps);
  for (let step = 0; step < steps; step++) {
    program.keep(step);
    const activations = Array.from({ length: 8 }, () => allocator.malloc(between(random, 0.05, 14) * MIB));
    for (const block of activations.reverse()) allocator.release(block);
    allocated[step] = allocator.allocated;
    reserved[step] = allocator.reserved;
  }
  return { allocated, reserved };
}
