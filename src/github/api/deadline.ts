/** Work on the network that took longer than it may. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

export interface Deadline {
  /** Maximum wait, milliseconds. */
  readonly ms: number;
  /** When this fires, at most `msAfterInterrupt` more are waited. */
  readonly interrupt?: AbortSignal;
  readonly msAfterInterrupt?: number;
}

/** Wait for work, not beyond the deadline; late results are dropped. @throws DeadlineError, or what the work throws */
export async function withDeadline<T>(deadline: Deadline, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const timers: NodeJS.Timeout[] = [];
  let onInterrupt: (() => void) | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const arm = (ms: number, why: string): void => {
      timers.push(
        setTimeout(() => {
          const error = new DeadlineError(`${why} ${ms / 1000} s`);
          reject(error);
          stop.abort(error);
        }, ms),
      );
    };
    arm(deadline.ms, "no answer within");
    onInterrupt = () => arm(deadline.msAfterInterrupt ?? 3000, "interrupted, and no answer within");
    if (deadline.interrupt?.aborted) onInterrupt();
    else deadline.interrupt?.addEventListener("abort", onInterrupt, { once: true });
  });
  try {
    const running = work(stop.signal);
    // The loser of the race may still reject later; that must not become an unhandled rejection.
    running.catch(() => {});
    return await Promise.race([running, late]);
  } finally {
    for (const timer of timers) clearTimeout(timer);
    if (onInterrupt) deadline.interrupt?.removeEventListener("abort", onInterrupt);
  }
}
