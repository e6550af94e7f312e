import type { Budget } from "../pickle/budget.ts";

const POOL_BYTES = 200;

/** Ids of memory pools (pairs of integers), deduplicated. Number 0 is the allocator's own pool, (0, 0). */
export class PoolTable {
  readonly #numbers = new Map<string, number>([["0:0", 0]]);
  readonly #names = ["0:0"];
  #lastFirst = 0;
  #lastSecond = 0;
  #last = 0;

  number(first: number, second: number, budget: Budget): number {
    if (first === this.#lastFirst && second === this.#lastSecond) return this.#last;
    const name = `${first}:${second}`;
    let number = this.#numbers.get(name);
    if (number === undefined) {
      budget.charge(POOL_BYTES);
      number = this.#names.push(name) - 1;
      this.#numbers.set(name, number);
    }
    this.#lastFirst = first;
    this.#lastSecond = second;
    this.#last = number;
    return number;
  }

  /** "a:b" */
  name(number: number): string {
    return this.#names[number] ?? "?";
  }
}
