import { MIB } from "../../../src/core/units.ts";
import { normal } from "../random.ts";

/** What a shape draws from besides the growth. */
interface ShapeInput {
  readonly n: number;
  readonly random: () => number;
}

/** Growth of 1 over a run of `n` samples, to be multiplied by the growth's size in bytes. */
export interface GrowthShape {
  readonly name: string;
  readonly draw: (input: ShapeInput) => Float64Array;
}

const between = (random: () => number, low: number, high: number): number => low + (high - low) * random();
const over = (n: number, at: (share: number) => number): Float64Array =>
  Float64Array.from({ length: n }, (_, i) => at(i / (n - 1)));
/** 0 before `from`, 1 from `to` on, a line between. */
const ramp = (share: number, from: number, to: number): number =>
  Math.min(1, Math.max(0, (share - from) / (to - from)));

/** Growth that ended: every one is at rest for at least the last fifth of the run. */
export const ENDED: readonly GrowthShape[] = [
  {
    name: "a ramp between two rests",
    draw: ({ n, random }) => {
      const length = between(random, 0.05, 0.25);
      const from = between(random, 0.1, 0.8 - length);
      return over(n, (share) => ramp(share, from, from + length));
    },
  },
  {
    name: "two ramps",
    draw: ({ n, random }) => {
      const [one, two] = [between(random, 0.05, 0.2), between(random, 0.05, 0.2)];
      const first = between(random, 0.05, 0.25);
      const second = between(random, first + one + 0.05, 0.8 - two);
      const part = between(random, 0.3, 0.7);
      return over(n, (s) => part * ramp(s, first, first + one) + (1 - part) * ramp(s, second, second + two));
    },
  },
  {
    name: "four to eight equal stages",
    draw: ({ n, random }) => {
      const stages = 4 + Math.floor(5 * random());
      const [from, end] = [between(random, 0.02, 0.15), between(random, 0.5, 0.7)];
      const jitter = Array.from({ length: stages }, () => between(random, -0.15, 0.15));
      const times = jitter.map((late, k) => from + ((end - from) * Math.min(k + late, stages - 1)) / (stages - 1));
      return over(n, (s) => times.filter((at) => s >= at).length / stages);
    },
  },
  {
    name: "three unlike jumps",
    draw: ({ n, random }) => {
      const sizes = [1, between(random, 0.35, 0.75), between(random, 1.4, 2.5)].sort(() => random() - 0.5);
      const sum = sizes.reduce((all, size) => all + size, 0);
      const times = sizes.map(() => between(random, 0.1, 0.75));
      return over(n, (s) => sizes.reduce((all, size, k) => all + (s >= (times[k] ?? 1) ? size / sum : 0), 0));
    },
  },
];

/** Growth that goes on, in forms that are easily mistaken. */
export const GOING_ON: readonly GrowthShape[] = [
  {
    name: "jump, then teeth on a rising lower envelope",
    draw: ({ n, random }) => {
      const [jump, at, height] = [between(random, 0.5, 3), between(random, 0.05, 0.4), between(random, 0.3, 2)];
      const period = Math.max(3, Math.round((n - 1) * between(random, 0.02, 0.08)));
      const phase = random();
      const teeth = (i: number) => height * ((i / period + phase) % 1);
      return over(n, (s) => s + (s < at ? 0 : jump) + teeth(Math.round(s * (n - 1))));
    },
  },
  {
    name: "line with one drop",
    draw: ({ n, random }) => {
      const [at, drop] = [between(random, 0.2, 0.8), between(random, 0.2, 0.9)];
      return over(n, (s) => s - (s < at ? 0 : drop * at));
    },
  },
];

/** Growth as the logarithm of the step: ever slower, without an end. */
export const LOGARITHMIC: GrowthShape = {
  name: "logarithmic",
  draw: ({ n, random }) => {
    const scale = between(random, 5, 60);
    return over(n, (s) => Math.log1p(scale * s) / Math.log1p(scale));
  },
};

/** Nothing until `onset`, a share of the run, then a line. */
export function lateLine(n: number, onset: number): Float64Array {
  return over(n, (share) => (onset >= 1 ? 0 : Math.max(0, share - onset) / (1 - onset)));
}

/** Noise around the level, bytes. */
export interface ShapeNoise {
  readonly name: string;
  readonly phi: number;
  /** Standard deviation as a share of the level; drawn between the two. */
  readonly sd: readonly [number, number];
}

export const SHAPE_NOISES: readonly ShapeNoise[] = [
  { name: "none", phi: 0, sd: [0, 0] },
  { name: "white", phi: 0, sd: [0.002, 0.02] },
  { name: "AR(1) .9", phi: 0.9, sd: [0.002, 0.01] },
];

/** A run before its growth is added. */
export interface Rest {
  readonly level: number;
  readonly values: Float64Array;
}

/** `n` samples of noise around a level of 1 to 16 GiB. */
export function restOf(noise: ShapeNoise, n: number, random: () => number): Rest {
  const level = 1024 * MIB * 16 ** random();
  const sd = level * between(random, ...noise.sd);
  let value = normal(random);
  const values = Float64Array.from({ length: n }, (_, i) => {
    if (i > 0) value = noise.phi * value + Math.sqrt(1 - noise.phi ** 2) * normal(random);
    return level + sd * value;
  });
  return { level, values: rounded(values) };
}

/** Samples of a run: 60 to 1500, logarithmically even. */
export const lengthOf = (random: () => number): number => Math.round(60 * 25 ** random());

/** Values as an allocator counts them, in pieces of 512 bytes. */
function rounded(values: Float64Array): Float64Array {
  return values.map((value) => Math.max(0, Math.round(value / 512) * 512));
}

/** A run with so many bytes of a shape on top. */
export function grown({ values }: Rest, shape: Float64Array, bytes: number): Float64Array {
  return rounded(values.map((value, i) => value + bytes * (shape[i] ?? Number.NaN)));
}
