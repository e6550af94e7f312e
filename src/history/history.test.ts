import { describe, expect, it } from "vitest";
import type { BaselineRecord } from "../baseline/record.ts";
import { acceptRuns, addRuns, emptyRecord, type NewRun } from "../baseline/record-changes.ts";
import { MIB } from "../core/units.ts";
import { prng } from "../stats/testing/prng.ts";
import { renderHistoryHtml } from "./history-html.ts";
import { historyLines } from "./history-text.ts";
import { type ScenarioHistory, scenarioHistories } from "./scenario-history.ts";
import { distinctSessions, type RunSession, sessionsOf } from "./sessions.ts";

const commitAt = (night: number): string => (night + 1).toString(16).padStart(12, "0").padEnd(40, "0");
const timeAt = (night: number): string => new Date(Date.UTC(2026, 0, 1 + night)).toISOString();

function runsOf(night: number, peak: number, version = 5): NewRun[] {
  const series = [{ rank: 0, device: "host", metric: "host" as const, peak_bytes: peak, growth_bytes: 0 }];
  const measured = { session: `s${night}`, commit: commitAt(night), analysis_version: version, series };
  return [0, 1].map(() => ({ measured, timeIso: timeAt(night), approved: true }));
}

const newest = (record: BaselineRecord): readonly RunSession[] => distinctSessions([...sessionsOf(record)].reverse());

/** Nights of one scenario with noise of 1 %. */
function nights(scenario: string, count: number, level: (night: number) => number, seed = 1): RunSession[] {
  const random = prng(seed);
  return Array.from({ length: count }, (_, night): RunSession => {
    const runs = runsOf(night, Math.round(500 * MIB * level(night) * (1 + 0.01 * random.normal())));
    const measured = runs.map((run) => run.measured);
    const [session, commit, time] = [`s${night}`, commitAt(night), timeAt(night)];
    return { scenario, environment: "e", session, commit, time, approved: true, accepted: null, runs: measured };
  });
}

/** Every second commit of the line was measured. */
const POSITIONS = new Map(Array.from({ length: 300 }, (_, night) => [commitAt(night), 2 * night]));
const histories = (sessions: readonly RunSession[]): readonly ScenarioHistory[] =>
  scenarioHistories(sessions, () => null);

describe("the sessions of a record", () => {
  const first = addRuns(emptyRecord("train", { backend: "cpu" }), [...runsOf(0, 100), ...runsOf(1, 101)]);

  it("the first session of an accepted level has its reason", () => {
    const sessions = sessionsOf(addRuns(acceptRuns(first, runsOf(2, 120), "larger batch"), runsOf(3, 121)));
    expect(sessions.map(({ session, accepted, runs }) => [session, accepted, runs.length])).toEqual([
      ["s0", null, 2],
      ["s1", null, 2],
      ["s2", "larger batch", 2],
      ["s3", null, 2],
    ]);
  });

  it("a level whose first runs were dropped has no reason", () => {
    const record = acceptRuns(first, runsOf(2, 120), "larger batch");
    const epochs = record.epochs.map((epoch) => ({ ...epoch, opened: timeAt(0) }));
    expect(sessionsOf({ ...record, epochs }).map(({ accepted }) => accepted)).toEqual([null, null, null]);
  });

  it("a session is taken from the newest version, with the runs of the fullest one", () => {
    const [old] = newest(addRuns(emptyRecord("train", { backend: "cpu" }), runsOf(0, 100)));
    const cut = { ...old!, approved: false, runs: old!.runs.slice(1) };
    expect(distinctSessions([cut, old!])).toEqual([{ ...old!, approved: false }]);
  });
});

describe("the lines of a history", () => {
  it("a step has its first commit, the commits since the session before, and the level before", () => {
    const [line] = historyLines(histories(nights("train", 60, (night) => (night < 35 ? 1 : 1.1))), POSITIONS);
    const [before, after] = [commitAt(34).slice(0, 12), commitAt(35).slice(0, 12)];
    expect(line).toMatch(/^train: host peak \+\d+\.\d % \(5[45]\d MiB, was 50\d MiB\) at /);
    expect(line).toContain(` at ${after}, one of 2 commits since ${before}`);
  });

  it("a change that was accepted has its reason, on one line", () => {
    const sessions = nights("train", 60, (night) => (night < 35 ? 1 : 1.1)).map((one, night) =>
      night === 35 ? { ...one, accepted: "larger\nbatch" } : one,
    );
    expect(historyLines(histories(sessions), POSITIONS)[0]).toMatch(/, accepted: larger batch$/);
  });

  it("a creep is located between two commits", () => {
    const creep = nights("train", 80, (night) => 1.004 ** Math.min(20, Math.max(0, night - 29)));
    expect(historyLines(histories(creep), POSITIONS)).toEqual([
      expect.stringMatching(/^train: host peak \+\d\.\d % \(.*\) in small steps from \w+ to \w+, \d+ commits$/),
    ]);
  });

  it("a scenario without a change has the number of its sessions, and with few sessions no claim", () => {
    expect(historyLines(histories(nights("train", 30, () => 1)), POSITIONS)).toEqual([
      "train: no change in 30 sessions (60 runs)",
    ]);
    expect(historyLines(histories(nights("train", 8, (night) => (night < 4 ? 1 : 2))), POSITIONS)).toEqual([
      "train: 8 sessions (16 runs); fewer than 20 sessions rarely show a change",
    ]);
  });

  it("growth by another version of the analysis is not compared", () => {
    const [history] = histories(
      nights("train", 40, () => 1).map((one, night) => ({
        ...one,
        runs: one.runs.map((run) => ({ ...run, analysis_version: night < 20 ? 4 : 5 })),
      })),
    );
    const lengths = history!.series.map(({ quantity, points }) => [quantity, points.length]);
    expect(lengths).toEqual([
      ["peak", 40],
      ["growth", 20],
    ]);
  });
});

describe("the page of a history", () => {
  it("the page escapes outside text and loads nothing", () => {
    const hostile = nights('</h2><script>alert("x")</script>', 60, (night) => (night < 35 ? 1 : 1.1)).map(
      (one, night) => (night === 35 ? { ...one, commit: "<b>&", accepted: "<img src=x onerror=alert(1)>" } : one),
    );
    const page = renderHistoryHtml(histories(hostile), POSITIONS);
    expect(page).not.toMatch(/<script|<img|<b>|https?:/);
    expect(page).toContain("&#60;img");
    expect(page).toContain("script-src 'none'");
    expect(page).toContain("<title>accepted: ");
  });

  it("each changed series has a chart with its level, its marks and its anchor; pending sessions are hollow", () => {
    const sessions = nights("train", 60, (night) => (night < 35 ? 1 : 1.1)).map((one, night) => ({
      ...one,
      approved: night < 58,
    }));
    const anchor = {
      scenario: "train",
      fingerprint: {},
      set: timeAt(0),
      commit: null,
      series: [[0, "host", "host", 510 * MIB] as [number, string, "host", number]],
    };
    const page = renderHistoryHtml(
      scenarioHistories(sessions, () => anchor),
      POSITIONS,
    );
    expect(page.match(/<svg /g)).toHaveLength(1);
    expect(page.match(/<ol><li>/g)).toHaveLength(1);
    expect(page.match(/stroke-dasharray="7 5"/g)).toHaveLength(1);
    expect(page.match(/h0/g)).toHaveLength(58 + 2 * 2);
    expect(page).toContain('stroke="var(--paper)"');
  });

  it("5,000 sessions of 20 scenarios take less than 2 MB", () => {
    // One scenario is analysed, and drawn as often as there are scenarios.
    const [one] = histories(nights("train", 5000, (night) => (night % 1000 < 500 ? 1 : 1.1)).slice(0, 5000));
    const all = Array.from({ length: 20 }, (_, i) => ({ ...one!, scenario: `scenario ${i}` }));
    expect(one!.series[0]!.changes.length).toBeGreaterThanOrEqual(9);
    expect(Buffer.byteLength(renderHistoryHtml(all, POSITIONS))).toBeLessThan(2_000_000);
  });
});
