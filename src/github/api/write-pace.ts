import { setTimeout as delay } from "node:timers/promises";

/** Writes that may follow each other at once; a job of the gate makes six to nine. */
const BURST = 10;
/** From then on one a second, as GitHub asks for: it allows 80 writes a minute. */
const REFILL_MS = 1000;

/**
 * When the next write may begin. The plugin's own pace is one a second from the first on, so that a job spent five
 * seconds waiting. Of the limiter that the plugin expects it uses this much.
 * @param now milliseconds of a monotonic clock
 */
export class WritePace {
  readonly #now: () => number;
  readonly #wait: (ms: number) => Promise<void>;
  #free = BURST;
  #refilledAt: number;
  #last: Promise<void> = Promise.resolve();

  constructor(now: () => number = () => performance.now(), wait: (ms: number) => Promise<void> = delay) {
    this.#now = now;
    this.#wait = wait;
    this.#refilledAt = now();
  }

  key(): this {
    return this;
  }

  schedule<T>(_options: unknown, task: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(() => this.#take());
    this.#last = turn;
    return turn.then(task);
  }

  async #take(): Promise<void> {
    const refilled = Math.floor((this.#now() - this.#refilledAt) / REFILL_MS);
    if (refilled > 0) {
      this.#free = Math.min(BURST, this.#free + refilled);
      this.#refilledAt += refilled * REFILL_MS;
    }
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    await this.#wait(this.#refilledAt + REFILL_MS - this.#now());
    this.#refilledAt += REFILL_MS;
  }
}
