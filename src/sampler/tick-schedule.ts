/** Deadlines on an absolute grid. A late tick skips and counts the deadlines that it missed. */
export class TickSchedule {
  #periodNs: number;
  #nextNs: number;
  #missed = 0;

  constructor(periodNs: number, nowNs: number) {
    this.#periodNs = periodNs;
    this.#nextNs = nowNs;
  }

  get periodNs(): number {
    return this.#periodNs;
  }

  get missed(): number {
    return this.#missed;
  }

  /** A new period takes effect from the next deadline on. */
  setPeriod(periodNs: number): void {
    this.#periodNs = periodNs;
  }

  /** Nanoseconds from now to the next deadline; negative when it is past. */
  untilNext(nowNs: number): number {
    return this.#nextNs - nowNs;
  }

  /** Take the tick that is due. @returns its lateness, nanoseconds */
  take(nowNs: number): number {
    const lateness = Math.max(0, nowNs - this.#nextNs);
    const skipped = Math.floor(lateness / this.#periodNs);
    this.#missed += skipped;
    this.#nextNs += (skipped + 1) * this.#periodNs;
    return lateness;
  }
}

const WINDOW_NS = 1_000_000_000;
const PERIOD_MAX_NS = 1_000_000_000;

/** Keeps the ticks below a fraction of one core by doubling the period, and halves it down to the requested one. */
export class Governor {
  readonly #budget: number;
  readonly #wishedNs: number;
  #windowStartNs: number;
  #spentNs = 0;

  constructor(budget: number, wishedNs: number, nowNs: number) {
    this.#budget = budget;
    this.#wishedNs = wishedNs;
    this.#windowStartNs = nowNs;
  }

  /** Account one tick. @returns the period to use from now on */
  spent(costNs: number, nowNs: number, periodNs: number): number {
    this.#spentNs += costNs;
    const window = nowNs - this.#windowStartNs;
    if (window < WINDOW_NS) return periodNs;
    const share = this.#spentNs / window;
    this.#windowStartNs = nowNs;
    this.#spentNs = 0;
    if (share > this.#budget) return Math.min(PERIOD_MAX_NS, periodNs * 2);
    // Halving the period doubles the cost, so it needs a margin. Otherwise the rate would oscillate.
    if (share * 2.5 < this.#budget) return Math.max(this.#wishedNs, periodNs / 2);
    return periodNs;
  }
}
