import { describe, expect, it } from "vitest";
import { runEnding } from "./run-ending.ts";

describe("how a run ended", () => {
  it("is well only when the command exited with status 0", () => {
    expect(runEnding({ kind: "exited", code: 0 })).toEqual({ kind: "ok" });
  });

  it.each([
    [{ kind: "exited", code: 7 }, "COMMAND_FAILED", /status 7/],
    [{ kind: "signaled", signal: "SIGSEGV" }, "COMMAND_KILLED", /SIGSEGV/],
    [{ kind: "timeout", after_s: 90 }, "COMMAND_TIMEOUT", /1 min 30 s/],
    [{ kind: "not-started", code: "COMMAND_NOT_FOUND", message: "x: not found" }, "COMMAND_NOT_FOUND", /x: not found/],
    [{ kind: "running" }, "COMMAND_LOST", /not seen/],
  ] as const)("%o is a failure with a code", (exit, code, message) => {
    const ending = runEnding(exit);
    expect(ending).toMatchObject({ kind: "failed", code });
    expect(ending.kind === "failed" && ending.message).toMatch(message);
  });

  it("hints at the kernel when something sent SIGKILL", () => {
    expect(runEnding({ kind: "signaled", signal: "SIGKILL" })).toMatchObject({ hint: expect.stringMatching(/memory/) });
  });

  it("is an interruption, not a failure, when the gate was told to stop", () => {
    expect(runEnding({ kind: "interrupted", signal: "SIGTERM" })).toEqual({ kind: "interrupted", signal: "SIGTERM" });
  });
});
