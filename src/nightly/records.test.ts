import { describe, expect, it } from "vitest";
import { type BaselineRecord, selectRuns } from "../baseline/record.ts";
import { pruneRecord } from "../baseline/record-size.ts";
import { acceptSession, openEpoch, recordSession, type SessionRuns } from "./records.ts";

function session(name: string, peaks: readonly number[]): SessionRuns {
  return {
    scenario: "train",
    fingerprint: { backend: "cpu" },
    session: name,
    runs: peaks.map((peak_bytes) => ({
      measured: {
        session: name,
        commit: "a".repeat(40),
        series: [{ rank: 0, device: "host", metric: "host", peak_bytes }],
      },
      timeIso: "2026-11-21T01:02:03.456Z",
      approved: true,
    })),
    envelopes: [],
  };
}

const peaksOf = (record: BaselineRecord): unknown[] => selectRuns(record, null).map(({ values }) => values[0]?.[0]);

describe("a session in a record", () => {
  it("a session is recorded before it is judged, and is not used until then", () => {
    const record = recordSession(null, session("s1", [1, 2]));
    expect(record.epochs[0]?.runs).toHaveLength(2);
    expect(peaksOf(record)).toEqual([]);
  });

  it("a session is used once it is approved, and is recorded only once", () => {
    const recorded = recordSession(null, session("s1", [1, 2]));
    const approved = acceptSession(recorded, session("s1", [1, 2, 3]));
    expect(peaksOf(approved)).toEqual([1, 2, 3]);
    expect(approved.epochs).toHaveLength(1);
    expect(acceptSession(approved, session("s1", [1, 2, 3]))).toEqual(approved);
  });

  it("leaves the sessions of others alone", () => {
    const first = acceptSession(null, session("s1", [1]));
    const held = recordSession(first, session("s2", [9]));
    expect(peaksOf(held)).toEqual([1]);
    expect(peaksOf(acceptSession(held, session("s3", [2])))).toEqual([1, 2]);
    expect(held.epochs[0]?.runs.map((run) => run.session)).toEqual(["s1", "s2"]);
  });

  it("held sessions do not push approved sessions out, even after many failing nightly runs", () => {
    let record = acceptSession(null, session("good", [1, 2, 3, 4, 5]));
    for (let night = 0; night < 200; night += 1) {
      record = pruneRecord(recordSession(record, session(`red-${night}`, [91, 92, 93, 94, 95, 96])));
    }
    expect(peaksOf(record)).toEqual([1, 2, 3, 4, 5]);
    const held = new Set(record.epochs[0]?.runs.filter(({ approved }) => !approved).map((run) => run.session));
    expect([...held]).toEqual(["red-197", "red-198", "red-199"]);
  });

  it("a session that is accepted opens an epoch and leaves the old one", () => {
    const held = recordSession(acceptSession(null, session("s1", [1])), session("s2", [9]));
    const accepted = openEpoch(held, session("s2", [9]), "larger batch");
    expect(peaksOf(accepted)).toEqual([9]);
    expect(accepted.epochs.map(({ runs, reason }) => [reason, runs.map((run) => run.session)])).toEqual([
      ["refresh", ["s1"]],
      ["larger batch", ["s2"]],
    ]);
  });

  it("a session that opened an epoch and is recorded again leaves no empty epoch", () => {
    const once = openEpoch(acceptSession(null, session("s1", [1])), session("s2", [9]), "larger batch");
    expect(openEpoch(once, session("s2", [9]), "larger batch")).toEqual(once);
  });
});
