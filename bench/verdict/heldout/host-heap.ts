import type { Draw } from "./draw.ts";

const PAGE = 4096;
const MIB = 2 ** 20;

/**
 * Private memory of a Python process tree, in pages: what the program holds, plus what the C allocator keeps and
 * returns by itself. That second share varies within bounds (a mean-reverting walk), now and then trimmed at once.
 */
export class HostHeap {
  #held: number;
  #slack = 0;
  readonly #draw: Draw;
  readonly #spread: number;
  readonly #memory: number;

  constructor(draw: Draw, base: number, spread: number) {
    this.#draw = draw;
    this.#held = base;
    this.#spread = spread;
    this.#memory = draw.uniform(0.5, 0.97);
  }

  /** Adds to what the program holds; negative gives back. */
  hold(bytes: number): void {
    this.#held += bytes;
  }

  /** Advances the heap by one step. */
  breathe(): void {
    const kick = Math.sqrt(1 - this.#memory ** 2) * this.#spread * this.#draw.normal();
    this.#slack = this.#memory * this.#slack + kick;
    if (this.#draw.chance(0.002)) this.#slack = -this.#spread;
  }

  get bytes(): number {
    return Math.max(MIB, Math.round((this.#held + this.#slack) / PAGE) * PAGE);
  }
}
