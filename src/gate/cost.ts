/** Limits of one invocation, for candidate, confirmation and base runs together. */
interface CostLimits {
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

  /** Maximum duration of another run, seconds; null = no limit, as for the first run, which a verdict needs. */
  remainingS(nowMs: number): number | null {
    const { maxMinutes } = this.#limits;
    if (maxMinutes === null || this.#runs === 0) return null;
    // With no time left a run could not even begin.
    return Math.max(1, (maxMinutes - this.minutes(nowMs)) * 60);
  }

  /** Why no further run is allowed, or null when one is. The first run is always allowed. */
  exhausted(nowMs: number): string | null {
    if (this.#runs === 0) return null;
    if (this.#runs >= this.#limits.maxRuns) return `the limit of ${this.#limits.maxRuns} runs is reached`;
    const spent = this.minutes(nowMs);
    const limit = this.#limits.maxMinutes;
    // Another run takes about as long as the earlier ones: do not start one that cannot end in time.
    if (limit !== null && spent + spent / this.#runs > limit) return `the limit of ${limit} minutes is reached`;
    return null;
  }
}

/** The abort reason of the Action's `timeout-minutes`; every other reason is a cancellation. */
export const OUT_OF_TIME = "timeout-minutes";

/** Whether the gate was cancelled, so that its verdict is not wanted any more. */
export function cancelled(interrupt: AbortSignal): boolean {
  return interrupt.aborted && interrupt.reason !== OUT_OF_TIME;
}

/** Whether the gate ends because its time is over: unlike after a cancellation, verdicts so far are kept. */
export function outOfTime(interrupt: AbortSignal): boolean {
  return interrupt.aborted && interrupt.reason === OUT_OF_TIME;
}
