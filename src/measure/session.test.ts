import { describe, expect, it } from "vitest";
import { randomId, sessionId } from "./session.ts";

describe("sessionId", () => {
  it("is what the variable says", () => {
    expect(sessionId({ STORMLOG_GATE_SESSION: "night-7", GITHUB_RUN_ID: "1" })).toBe("night-7");
  });

  it("names run, attempt, job and runner in a workflow", () => {
    const env = { GITHUB_RUN_ID: "99", GITHUB_RUN_ATTEMPT: "2", GITHUB_JOB: "gate", RUNNER_TRACKING_ID: "github_a" };
    expect(sessionId(env)).toBe("github-99-2-gate-github_a");
    expect(sessionId({ GITHUB_RUN_ID: "99" })).toBe("github-99-1-job");
  });

  it("is random, 128 bits, elsewhere", () => {
    expect(sessionId({})).toMatch(/^[0-9a-f]{32}$/);
    expect(randomId()).not.toBe(randomId());
  });

  it.each(["two words", "line\nbreak", "ü", "x".repeat(201)])("refuses %j", (name) => {
    expect(() => sessionId({ STORMLOG_GATE_SESSION: name })).toThrow(/STORMLOG_GATE_SESSION/);
  });
});
