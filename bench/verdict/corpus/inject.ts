import { MIB } from "../../../src/core/units.ts";

/** How the leaked bytes arrive. */
export const LEAK_SHAPES = [
  "linear",
  "2 MiB stairs, even",
  "2 MiB stairs, random",
  "20 MiB stairs, even",
  "20 MiB stairs, random",
  "under a saw-tooth",
  "late onset",
] as const;
export type LeakShape = (typeof LEAK_SHAPES)[number];

/** What was put into a series. */
export interface Injection {
  readonly values: Float64Array;
  /** Growth from the first to the last sample, bytes; whole stairs where there are stairs. */
  readonly growth: number;
  /** Number of stairs; null where there are none. */
  readonly stairs: number | null;
}

/** Even stairs begin at a random phase; random stairs at times drawn evenly over the run. */
function stairs(n: number, growth: number, size: number, even: boolean, random: () => number): Injection {
  const count = Math.round(growth / size);
  const phase = random();
  const times = Array.from({ length: count }, (_, k) => (even ? ((k + phase) / count) * (n - 1) : random() * (n - 1)));
  const values = new Float64Array(n);
  for (let i = 0; i < n; i++) values[i] = size * times.filter((at) => at < i).length;
  return { values, growth: count * size, stairs: count };
}

/**
 * `growth` bytes on top of `n` samples, by shape:
 * - linear: growth · i / (n − 1);
 * - stairs: the whole number of 2 or 20 MiB stairs nearest to the growth;
 * - saw-tooth: linear, plus a tooth that rises from 0 to A and falls back at once, A evenly drawn from 0.5 to 3 times
 *   the growth, its period (a real number of samples, logarithmically even) from 2.5 samples to a fifth of the series,
 *   at a random phase;
 * - late onset: nothing until a point evenly drawn between 60 and 80 % of the run, then linear.
 */
export function injection(shape: LeakShape, n: number, growth: number, random: () => number): Injection {
  const line = (from: number) =>
    Float64Array.from({ length: n }, (_, i) => (growth * Math.max(0, i - from)) / (n - 1 - from));
  switch (shape) {
    case "linear":
      return { values: line(0), growth, stairs: null };
    case "2 MiB stairs, even":
      return stairs(n, growth, 2 * MIB, true, random);
    case "2 MiB stairs, random":
      return stairs(n, growth, 2 * MIB, false, random);
    case "20 MiB stairs, even":
      return stairs(n, growth, 20 * MIB, true, random);
    case "20 MiB stairs, random":
      return stairs(n, growth, 20 * MIB, false, random);
    case "under a saw-tooth": {
      const height = growth * (0.5 + 2.5 * random());
      const period = 2.5 * (n / 5 / 2.5) ** random();
      const phase = random();
      const values = line(0).map((value, i) => value + height * ((i / period + phase) % 1));
      return { values, growth, stairs: null };
    }
    case "late onset":
      return { values: line((n - 1) * (0.6 + 0.2 * random())), growth, stairs: null };
  }
}
