import { describe, expect, it } from "vitest";
import { emptyState, type NightlyEntry, parseState, serializeState, withSessions } from "./state.ts";

const night = (session: string, level = 1): NightlyEntry => ({
  time: "2026-11-21T03:17:00Z",
  commit: null,
  session,
  scenario: "train",
  environment: "0".repeat(16),
  word: "pass",
  outcome: "approved",
  runs: 2,
  series: [0, "cuda:0", "allocated"],
  level_bytes: level,
  baseline_bytes: 1,
  threshold_bytes: 2,
  growth_bytes: null,
});

describe("the state of nightly runs", () => {
  it("survives a round trip", () => {
    const state = withSessions(emptyState(), [night("a"), night("b")]);
    expect(parseState(serializeState(state))).toEqual({ kind: "state", state });
  });

  it("the state contains a session once, however often it is written", () => {
    const once = withSessions(emptyState(), [night("a", 1)]);
    expect(withSessions(once, [night("a", 2)]).nights).toEqual([night("a", 2)]);
  });

  it("the state drops the oldest nightly runs to stay within its size", () => {
    let state = emptyState();
    for (let at = 0; at < 1000; at += 1) {
      state = withSessions(state, [night(`n${at}`)]);
    }
    expect(state.nights).toHaveLength(600);
    expect(state.nights.at(-1)?.session).toBe("n999");
    expect(Buffer.byteLength(serializeState(state))).toBeLessThan(300_000);
  });

  it("a state of a newer version is distinguished from a broken one", () => {
    expect(parseState('{"schema":"stormlog.nightly/2"}')).toEqual({ kind: "newer", schema: "stormlog.nightly/2" });
    expect(parseState("{")).toMatchObject({ kind: "broken" });
    expect(parseState('{"schema":"stormlog.nightly/1"}')).toMatchObject({ kind: "broken" });
    expect(parseState("null")).toMatchObject({ kind: "broken" });
  });
});
