import { MIB } from "../../core/units.ts";
import type { Prng } from "../../stats/testing/prng.ts";

/** Synthetic memory curves, bytes, one value per sample. Each draws its own random numbers. */
export type Shape = (n: number, random: Prng) => Float64Array;

const series = (n: number, at: (i: number) => number): Float64Array =>
  Float64Array.from({ length: n }, (_, i) => at(i));

/** Allocators return multiples of 512 bytes. */
const quantised = (value: number): number => Math.max(0, Math.round(value / 512) * 512);

const BASE = 1024 * MIB;

export function noisy(sigmaMib: number, phi = 0): Shape {
  return (n, random) => {
    let noise = 0;
    const innovation = sigmaMib * Math.sqrt(1 - phi * phi);
    return series(n, () => {
      noise = phi * noise + innovation * random.normal();
      return quantised(BASE + noise * MIB);
    });
  };
}

/** Exponential approach to the level; `tau` as a share of the run. */
export const warmup =
  (tauShare: number): Shape =>
  (n, random) =>
    series(n, (i) => quantised(BASE * (1 - 0.5 * Math.exp(-i / (tauShare * n))) + 2 * MIB * random.normal()));

/** `sizes` MiB added at the given shares of the run. */
export const jumps =
  (steps: readonly (readonly [share: number, sizeMib: number])[]): Shape =>
  (n, random) =>
    series(n, (i) =>
      quantised(
        BASE + steps.reduce((sum, [share, size]) => sum + (i >= share * n ? size * MIB : 0), 0) + MIB * random.normal(),
      ),
    );

/** A saw-tooth of `teeth` cycles of irregular length and `heightMib`, above a level lower envelope. */
export const sawtooth =
  (teeth: number, heightMib: number, irregularity = 0.2): Shape =>
  (n, random) => {
    let left = 0;
    let length = 1;
    return series(n, () => {
      if (left <= 0) {
        length = Math.max(2, (n / teeth) * (1 + irregularity * random.normal()));
        left = length;
      }
      left--;
      return quantised(BASE + heightMib * MIB * (1 - left / length) + 0.5 * MIB * random.normal());
    });
  };

/** `growth` bytes over the run on top of another shape: evenly, in whole stairs, or from a share of the run on. */
export const growing =
  (shape: Shape, growthMib: number, how: { stairMib?: number; from?: number } = {}): Shape =>
  (n, random) => {
    const from = (how.from ?? 0) * n;
    return shape(n, random).map((value, i) => {
      const grown = (growthMib * MIB * Math.max(0, i - from)) / (n - 1 - from);
      const stair = how.stairMib === undefined ? 0 : how.stairMib * MIB;
      return value + (stair > 0 ? Math.floor(grown / stair) * stair : grown);
    });
  };

/** Events of a process after its start. `s` is seconds since it began, `left` seconds until the run ends. */
export interface Workload {
  readonly startupS: number;
  readonly levelMib: number;
  /** Retained linearly while the workload runs, MiB in total. */
  readonly retainedMib?: number;
  /** Garbage collected saw-tooth. */
  readonly garbageMib?: number;
  readonly teardown?: boolean;
}

/** Host memory of a short process: an interpreter starts, works, and frees its memory when it ends. */
export const processRun =
  (durationS: number, work: Workload): Shape =>
  (n, random) => {
    let garbage = 0;
    let nextCollection = (work.garbageMib ?? 0) * (0.7 + 0.6 * random.uniform());
    const imports = Array.from({ length: 12 }, () => random.uniform()).sort((a, b) => a - b);
    return series(n, (i) => {
      const s = (i / n) * durationS;
      const started = Math.min(1, s / work.startupS);
      const loaded = imports.filter((at) => at <= started).length / imports.length;
      const done = Math.max(0, (s - work.startupS) / (durationS - work.startupS));
      if (started === 1) garbage += ((work.garbageMib ?? 0) / 25) * (0.5 + random.uniform());
      if (garbage > nextCollection) {
        garbage = 0;
        nextCollection = (work.garbageMib ?? 0) * (0.7 + 0.6 * random.uniform());
      }
      const level = 2 + work.levelMib * (0.5 * loaded + 0.5 * started) + (work.retainedMib ?? 0) * done + garbage;
      const leaving = work.teardown !== false && i >= n - 4 ? (n - 1 - i) / 4 : 1;
      return Math.round((level * leaving * MIB) / 4096) * 4096;
    });
  };
