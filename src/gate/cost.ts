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

  /**
   * Seconds another run may last at most; null = as long as it takes. The first run has no limit of ours: without it there is
   * nothing to answer with.
   */
  remainingS(nowMs: number): number | null {
    const { maxMinutes } = this.#limits;
    if (maxMinutes === null || this.#runs === 0) return null;
    // A run that is given no time at all could not even begin.
    return Math.max(1, (maxMinutes - this.minutes(nowMs)) * 60);
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

/** What the Action's `timeout-minutes` says when it ends a gate; every other reason is somebody who wants it to end. */
export const OUT_OF_TIME = "timeout-minutes";

/** Whether the gate was told to end by somebody who does not want its answer any more. */
export function cancelled(interrupt: AbortSignal): boolean {
  return interrupt.aborted && interrupt.reason !== OUT_OF_TIME;
}

/** Whether the gate ends because its time is over: what was judged so far then stands, unlike after a cancellation. */
export function outOfTime(interrupt: AbortSignal): boolean {
  return interrupt.aborted && interrupt.reason === OUT_OF_TIME;
}
