/** What one invocation may spend: runs and minutes cover candidate, confirmation and base runs together. */
export interface CostLimits {
  readonly maxRuns: number;
  readonly maxMinutes: number | null;
}

/** Counts runs and time of one scenario against its limits. */
export class Cost {
  readonly #limits: CostLimits;
  readonly #startedMs: number;
  #runs = 0;

  constructor(limits: CostLimits, nowMs: number) {
    this.#limits = limits;
    this.#startedMs = nowMs;
  }

  get runs(): number {
    return this.#runs;
  }

  add(): void {
    this.#runs += 1;
  }

  minutes(nowMs: number): number {
    return (nowMs - this.#startedMs) / 60_000;
  }

  /** Why another run is not to be had, or null when it is. The first run is always allowed. */
  exhausted(nowMs: number): string | null {
    if (this.#runs === 0) return null;
    if (this.#runs >= this.#limits.maxRuns) return `the limit of ${this.#limits.maxRuns} runs is reached`;
    const spent = this.minutes(nowMs);
    const limit = this.#limits.maxMinutes;
    // Another run lasts about as long as those before: do not start one that cannot end in time.
    if (limit !== null && spent + spent / this.#runs > limit) return `the limit of ${limit} minutes is reached`;
    return null;
  }
}
