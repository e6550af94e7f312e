import { describe, expect, it } from "vitest";
import { DeadlineError, withDeadline } from "./deadline.ts";

describe("withDeadline", () => {
  it("gives the result of work that is in time", async () => {
    expect(await withDeadline({ ms: 1000 }, async () => 7)).toBe(7);
  });

  it("passes on what the work throws", async () => {
    await expect(withDeadline({ ms: 1000 }, async () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  });

  it("stops waiting for work that never ends, and aborts it", async () => {
    let handed: AbortSignal | undefined;
    const endless = withDeadline({ ms: 20 }, (signal) => {
      handed = signal;
      return new Promise<never>(() => {});
    });
    await expect(endless).rejects.toBeInstanceOf(DeadlineError);
    expect(handed?.aborted).toBe(true);
  });

  it("waits only a little longer once it is interrupted", async () => {
    const interrupt = new AbortController();
    const waiting = withDeadline({ ms: 60_000, interrupt: interrupt.signal, msAfterInterrupt: 30 }, () => {
      interrupt.abort();
      return new Promise<never>(() => {});
    });
    await expect(waiting).rejects.toThrow(/interrupted/);
  });

  it("does not leave a late failure unhandled", async () => {
    const late = withDeadline(
      { ms: 5 },
      () => new Promise<never>((_resolve, reject) => setTimeout(() => reject(new Error("late")), 15)),
    );
    await expect(late).rejects.toBeInstanceOf(DeadlineError);
    await new Promise((resolve) => setTimeout(resolve, 30));
  });
});
