import { mulberry32 } from "../mulberry32.ts";

/** A seeded generator, so that tests draw the same numbers on every machine. */
export interface Prng {
  /** Uniform in [0, 1). */
  uniform(): number;
  /** Standard normal. */
  normal(): number;
}

export function prng(seed: number): Prng {
  const uniform = mulberry32(seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, normal };
}
