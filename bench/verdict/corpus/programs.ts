import { MIB } from "../../../src/core/units.ts";
import { normal } from "../random.ts";
import { SAMPLES } from "./families.ts";

/** One program: every run of it is drawn again, as bytes at {@link SAMPLES} moments. */
export interface DrawnProgram {
  readonly metric: "allocated" | "host";
  readonly run: (random: () => number) => Float64Array;
}

/** Programs of one kind, which differ in level, noise and pace. */
export interface ProgramKind {
  readonly name: string;
  readonly draw: (random: () => number) => DrawnProgram;
}

const between = (random: () => number, low: number, high: number): number => low + (high - low) * random();
/** Evenly on a logarithmic scale. */
const scale = (random: () => number, low: number, high: number): number =>
  Math.exp(between(random, Math.log(low), Math.log(high)));

const series = (at: (sample: number) => number, grain: number): Float64Array =>
  Float64Array.from({ length: SAMPLES }, (_, sample) => Math.max(0, Math.round((MIB * at(sample)) / grain) * grain));
const PAGE = 4096;
const BLOCK = 512;

/** A stationary first-order process with this standard deviation. */
function wandering(random: () => number, phi: number, sd: number): () => number {
  let value = sd * normal(random);
  return () => {
    const now = value;
    value = phi * value + sd * Math.sqrt(1 - phi * phi) * normal(random);
    return now;
  };
}

export const PROGRAM_KINDS: readonly ProgramKind[] = [
  {
    name: "training loop",
    draw: (random) => {
      const [level, activations] = [scale(random, 256, 16_384), between(random, 0.1, 0.6)];
      const period = Math.ceil(between(random, 5, 40));
      return {
        metric: "allocated",
        run: () => series((i) => level * (1 + activations * ((i % period) / period)), BLOCK),
      };
    },
  },
  {
    name: "training loop, batches of unequal length",
    draw: (random) => {
      const [level, spread] = [scale(random, 256, 16_384), between(random, 0.02, 0.15)];
      return {
        metric: "allocated",
        // A batch is as long as its longest sequence, and none is longer than the model takes.
        run: (own) => series(() => level * (1 + spread * Math.min(2, Math.abs(normal(own)))), BLOCK),
      };
    },
  },
  {
    name: "autotuned kernels",
    draw: (random) => {
      const [level, workspace] = [scale(random, 512, 16_384), between(random, 0.001, 0.008)];
      return {
        metric: "allocated",
        run: (own) => {
          const mode = own() < 0.7 ? 0 : own() < 0.7 ? 1 : 4;
          return series((i) => level * (1 + mode * workspace) + (i % 10), BLOCK);
        },
      };
    },
  },
  {
    name: "service with a bounded cache",
    draw: (random) => {
      const [level, cache] = [scale(random, 64, 2048), between(random, 0.1, 0.5)];
      const [filled, noise] = [between(random, 0.02, 0.15) * SAMPLES, between(random, 0.0005, 0.005)];
      return {
        metric: "host",
        run: (own) => series((i) => level * (1 + cache * (1 - Math.exp(-i / filled)) + noise * normal(own)), PAGE),
      };
    },
  },
  {
    name: "heap as a JVM has it",
    draw: (random) => {
      const [level, young] = [scale(random, 256, 4096), between(random, 0.05, 0.25)];
      const [period, noise] = [between(random, 8, 60), between(random, 0.005, 0.02)];
      return {
        metric: "host",
        run: (own) => {
          // The heap is committed in steps until its load fits; when, and to what, differs between runs.
          const committed = level * (1 + noise * normal(own));
          const grown = between(own, 0.05, 0.3) * SAMPLES;
          let used = own();
          return series((i) => {
            used = used >= 1 ? 0 : used + between(own, 0.5, 1.5) / period;
            return committed * (0.8 + 0.2 * Math.min(1, Math.ceil((4 * i) / grown) / 4) + young * used);
          }, PAGE);
        },
      };
    },
  },
  {
    name: "fork server",
    draw: (random) => {
      const [parent, worker] = [scale(random, 64, 512), scale(random, 20, 120)];
      const [workers, busy] = [Math.ceil(between(random, 4, 16)), between(random, 0.3, 0.8)];
      return {
        metric: "host",
        run: (own) => {
          const alive = Array.from({ length: workers }, () => own() < busy);
          return series(() => {
            const at = Math.floor(own() * workers);
            alive[at] = own() < busy;
            return parent + worker * (2 + alive.filter(Boolean).length);
          }, PAGE);
        },
      };
    },
  },
  {
    name: "heap as V8 has it",
    draw: (random) => {
      const [level, garbage] = [scale(random, 40, 600), between(random, 0.1, 0.5)];
      const period = between(random, 10, 80);
      return {
        metric: "host",
        run: (own) => {
          let [held, next] = [own(), between(own, 0.7, 1)];
          return series((i) => {
            if (held >= next) [held, next] = [0, between(own, 0.7, 1)];
            held += between(own, 0.5, 1.5) / period;
            return level * (1 - 0.2 * Math.exp(-i / 20) + garbage * held);
          }, PAGE);
        },
      };
    },
  },
  {
    name: "loader of data",
    draw: (random) => {
      const [level, noise] = [scale(random, 128, 4096), between(random, 0.002, 0.02)];
      const phi = between(random, 0.7, 0.95);
      return {
        metric: "host",
        run: (own) => {
          const at = wandering(own, phi, noise);
          return series(() => level * (1 + at()), PAGE);
        },
      };
    },
  },
  {
    name: "phases of unequal length",
    draw: (random) => {
      const [level, second] = [scale(random, 128, 4096), between(random, 1.1, 1.6)];
      const noise = between(random, 0.0005, 0.004);
      return {
        metric: "host",
        run: (own) => {
          const [from, to] = [between(own, 0.2, 0.4) * SAMPLES, between(own, 0.6, 0.8) * SAMPLES];
          return series((i) => level * ((i > from && i < to ? second : 1) + noise * normal(own)), PAGE);
        },
      };
    },
  },
  {
    name: "steady program in C",
    draw: (random) => {
      const level = scale(random, 16, 2048);
      const blips = Math.floor(between(random, 0, 5));
      return {
        metric: "host",
        run: (own) => {
          const at = new Set(Array.from({ length: blips }, () => Math.floor(own() * SAMPLES)));
          return series((i) => level + (at.has(i) ? 0.1 : 0), PAGE);
        },
      };
    },
  },
];
