import { EventEmitter } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { GateError } from "../core/errors.ts";
import { EXIT_AFTER_INTERRUPT_MS, watchInterruption } from "./interrupt.ts";

describe("watchInterruption", () => {
  it("aborts once, with the first signal as its reason", () => {
    const source = new EventEmitter();
    const { signal, dispose } = watchInterruption(60_000, () => {}, source);
    source.emit("SIGINT");
    source.emit("SIGTERM");
    expect(signal.reason).toBeInstanceOf(GateError);
    expect(signal.reason).toMatchObject({
      code: "INTERRUPTED",
      exitCode: 130,
      message: expect.stringMatching(/SIGINT/),
    });
    dispose();
    expect(source.listenerCount("SIGINT") + source.listenerCount("SIGTERM")).toBe(0);
  });

  it("calls a timeout an error, not an interruption", async () => {
    vi.useFakeTimers();
    try {
      const { signal } = watchInterruption(1000, () => {}, new EventEmitter());
      vi.advanceTimersByTime(999);
      expect(signal.aborted).toBe(false);
      vi.advanceTimersByTime(1);
      expect(signal.reason).toMatchObject({ code: "STEP_TIMEOUT", exitCode: 1 });
    } finally {
      vi.useRealTimers();
    }
  });

  it("gives up before the runner's 7.5 s, counted from the first signal", () => {
    vi.useFakeTimers();
    try {
      const source = new EventEmitter();
      let hopeless = 0;
      watchInterruption(60_000, () => (hopeless += 1), source);
      source.emit("SIGINT");
      vi.advanceTimersByTime(EXIT_AFTER_INTERRUPT_MS - 1);
      source.emit("SIGINT");
      expect(hopeless).toBe(0);
      vi.advanceTimersByTime(1);
      expect(hopeless).toBe(1);
      expect(EXIT_AFTER_INTERRUPT_MS).toBeLessThan(7500);
    } finally {
      vi.useRealTimers();
    }
  });

  it("does not take a limit of weeks for one of now", () => {
    vi.useFakeTimers();
    try {
      const { signal } = watchInterruption(30 * 24 * 3600 * 1000, () => {}, new EventEmitter());
      vi.advanceTimersByTime(3600 * 1000);
      expect(signal.aborted).toBe(false);
    } finally {
      vi.useRealTimers();
    }
  });
});
