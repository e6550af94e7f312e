import { MIB } from "../../src/core/units.ts";
import { normal } from "./random.ts";

/** Peaks of one program, run again and again: one number a run, bytes. */
export interface NoiseWorld {
  readonly name: string;
  /** Smallest material change there, for rules with such a parameter, bytes. */
  readonly floor: number;
  readonly draw: (random: () => number) => number;
}

/**
 * Peak allocated memory of 22 runs of one model, dependencies pinned, MB: three modes and a straggler, as its autotuner
 * picks kernels (pytorch/executorch issue 22134).
 */
const AUTOTUNED_MB = [
  ...Array<number>(3).fill(20328.96),
  ...Array<number>(12).fill(20350.96),
  20375.95,
  ...Array<number>(6).fill(20489.7),
];

/**
 * Five kinds of noise that peaks of real programs show; the base is 1 GiB, but for the last, which is drawn from real
 * runs.
 */
export const NOISE_WORLDS: readonly NoiseWorld[] = [
  { name: "det", floor: 2 * MIB, draw: () => 1024 * MIB },
  {
    name: "quant20",
    floor: 20 * MIB,
    draw: (random) => {
      const u = random();
      return (1024 + (u < 0.76 ? 0 : u < 0.96 ? 20 : 40)) * MIB;
    },
  },
  {
    name: "tail",
    floor: 4 * MIB,
    draw: (random) => {
      let steps = 0;
      while (random() < 0.5) steps += 1;
      return (1024 + 2 * steps + (random() < 0.03 ? 128 : 0)) * MIB;
    },
  },
  { name: "gauss 1 %", floor: 8 * MIB, draw: (random) => 1024 * MIB * (1 + 0.01 * normal(random)) },
  {
    name: "executorch",
    floor: 2 * MIB,
    draw: (random) => Math.round((AUTOTUNED_MB[Math.floor(random() * 22)] as number) * 1e6),
  },
];
