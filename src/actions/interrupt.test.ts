import { EventEmitter } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { GateError } from "../core/errors.ts";
import { EXIT_AFTER_INTERRUPT_MS, EXIT_AFTER_TIMEOUT_MS, watchInterruption } from "./interrupt.ts";

describe("watchInterruption", () => {
  it("aborts once, with the first signal as its reason", () => {
    const source = new EventEmitter();
    const signal = watchInterruption(60_000, () => {}, source);
    source.emit("SIGINT");
    source.emit("SIGTERM");
    expect(signal.reason).toBeInstanceOf(GateError);
    expect(signal.reason).toMatchObject({
      code: "INTERRUPTED",
      exitCode: 130,
      message: expect.stringMatching(/SIGINT/),
    });
  });

  it("calls a timeout an error, not an interruption", async () => {
    vi.useFakeTimers();
    try {
      const signal = watchInterruption(1000, () => {}, new EventEmitter());
      vi.advanceTimersByTime(999);
      expect(signal.aborted).toBe(false);
      vi.advanceTimersByTime(1);
      expect(signal.reason).toMatchObject({ code: "STEP_TIMEOUT", exitCode: 1 });
    } finally {
      vi.useRealTimers();
    }
  });

  it("gives up before the runner kills the step, 10 s after the first signal", () => {
    vi.useFakeTimers();
    try {
      const source = new EventEmitter();
      const hopeless: string[] = [];
      watchInterruption(60_000, ({ code }) => hopeless.push(code), source);
      source.emit("SIGINT");
      vi.advanceTimersByTime(EXIT_AFTER_INTERRUPT_MS - 1);
      source.emit("SIGINT");
      expect(hopeless).toEqual([]);
      vi.advanceTimersByTime(1);
      expect(hopeless).toEqual(["INTERRUPTED"]);
      expect(EXIT_AFTER_INTERRUPT_MS).toBeLessThan(10_000);
    } finally {
      vi.useRealTimers();
    }
  });

  it("gives up some seconds after the step's timeout, and as soon as ever after a signal that follows it", () => {
    vi.useFakeTimers();
    try {
      for (const [signalAfterMs, givenUpAfterMs] of [
        [null, EXIT_AFTER_TIMEOUT_MS],
        [1000, 1000 + EXIT_AFTER_INTERRUPT_MS],
      ] as const) {
        const source = new EventEmitter();
        const hopeless: string[] = [];
        watchInterruption(2000, ({ code }) => hopeless.push(code), source);
        vi.advanceTimersByTime(2000);
        if (signalAfterMs !== null) {
          vi.advanceTimersByTime(signalAfterMs);
          source.emit("SIGTERM");
        }
        vi.advanceTimersByTime(givenUpAfterMs - (signalAfterMs ?? 0) - 1);
        expect(hopeless).toEqual([]);
        vi.advanceTimersByTime(1);
        expect(hopeless).toEqual(["STEP_TIMEOUT"]);
      }
    } finally {
      vi.useRealTimers();
    }
  });

  it("does not take a limit of weeks for one of now", () => {
    vi.useFakeTimers();
    try {
      const signal = watchInterruption(30 * 24 * 3600 * 1000, () => {}, new EventEmitter());
      vi.advanceTimersByTime(3600 * 1000);
      expect(signal.aborted).toBe(false);
    } finally {
      vi.useRealTimers();
    }
  });
});
