import { describe, expect, it } from "vitest";
import { endedTogether } from "../measure.ts";

const SOON_MS = 40;

const interruptedSoon = (): AbortSignal => {
  const controller = new AbortController();
  setTimeout(() => controller.abort("SIGTERM"), SOON_MS);
  return controller.signal;
};

describe("a command that ended by a signal", () => {
  it.each([
    { kind: "signaled", signal: "SIGTERM" },
    { kind: "signaled", signal: "SIGINT" },
    { kind: "exited", code: 143 },
  ] as const)(
    "a command ended together with the gate when the signal reaches the gate slightly later: $kind",
    async (end) => {
      expect(await endedTogether(end, interruptedSoon())).toBe(true);
      expect(await endedTogether(end, AbortSignal.abort("SIGTERM"))).toBe(true);
      expect(await endedTogether(end, new AbortController().signal)).toBe(false);
    },
  );

  it.each([
    { kind: "signaled", signal: "SIGSEGV" },
    { kind: "signaled", signal: "SIGKILL" },
    { kind: "exited", code: 1 },
    { kind: "exited", code: 0 },
    { kind: "lost" },
  ] as const)("a command with any other end did not end together with the gate, without a wait: $kind", async (end) => {
    const notWaiting = new Promise((resolve) => setImmediate(resolve, "waits"));
    expect(await Promise.race([endedTogether(end, new AbortController().signal), notWaiting])).toBe(false);
  });
});
