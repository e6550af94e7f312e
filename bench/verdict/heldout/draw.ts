import { normal, seeded } from "../random.ts";

/** Random draws of one made-up recording, all from one stream, so that the seed determines a case. */
export class Draw {
  readonly next: () => number;

  constructor(seed: number) {
    this.next = seeded(seed);
  }

  uniform(low: number, high: number): number {
    return low + (high - low) * this.next();
  }

  /** Every factor equally likely: sizes and lengths have no natural unit. */
  logUniform(low: number, high: number): number {
    return low * (high / low) ** this.next();
  }

  /** An integer from `low` to `high`, both included. */
  integer(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(first: T, ...rest: readonly T[]): T {
    return [first, ...rest][Math.floor(this.next() * (rest.length + 1))] ?? first;
  }

  normal(): number {
    return normal(this.next);
  }

  exponential(mean: number): number {
    return -mean * Math.log(1 - this.next());
  }

  /** Pareto with the given tail exponent and smallest value 1; below 2 its variance is infinite. */
  pareto(exponent: number): number {
    return (1 - this.next()) ** (-1 / exponent);
  }
}

/** Mixes numbers into one seed (FNV-1a over their bytes), so that neighbouring cases share nothing. */
export function seedOf(...parts: readonly (number | string)[]): number {
  let hash = 0x811c9dc5;
  for (const character of parts.join("/")) {
    hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
  }
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
