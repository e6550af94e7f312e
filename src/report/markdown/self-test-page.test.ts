import { describe, expect, it } from "vitest";
import { selfTestBadge } from "../documents/badge.ts";
import { type ShownTrial, selfTestPage, tallyOf } from "./self-test-page.ts";

const trial = (kind: ShownTrial["kind"], failed: boolean, scenario = "train"): ShownTrial => ({
  time: "2026-11-21T03:17:00Z",
  scenario,
  kind,
  failed,
  injected_bytes: kind === "canary" ? 0 : 12 * 1024 ** 2,
  metric: "host",
  runs: 5,
});

const times = (count: number, one: ShownTrial): ShownTrial[] => Array.from({ length: count }, () => one);

describe("the self-test's badge", () => {
  const badge = (alarms: [number, number], found: [number, number]): Record<string, unknown> =>
    JSON.parse(
      selfTestBadge({
        falseAlarms: { hits: alarms[0], tries: alarms[1] },
        detections: { hits: found[0], tries: found[1] },
      }),
    );

  it("the self-test's badge has only the keys that a shields.io endpoint accepts", () => {
    expect(badge([0, 24], [47, 48])).toEqual({
      schemaVersion: 1,
      label: "memory gate self-test",
      message: "finds 47/48, false alarms 0/24",
      color: "yellow",
    });
  });

  it.each([
    [[0, 0], [0, 0], "lightgrey"],
    [[0, 1], [2, 2], "yellow"],
    [[0, 60], [120, 120], "brightgreen"],
    [[10, 30], [60, 60], "red"],
    [[0, 60], [30, 60], "red"],
  ] as const)("the self-test's badge for %j false alarms and %j detections is %s", (alarms, found, color) => {
    expect(badge([...alarms], [...found]).color).toBe(color);
  });
});

describe("the self-test's page", () => {
  it("counts each kind of try with its interval, and marks false alarms and missed regressions", () => {
    const page = selfTestPage([
      ...times(19, trial("canary", false)),
      trial("canary", true),
      ...times(20, trial("peak", true)),
      trial("growth", false),
    ]);
    expect(page).toContain("1/20 (0.9 % to 23.6 %)");
    expect(page).toContain("20/20 (83.9 % to 100.0 %)");
    expect(page).toContain("**false alarm**");
    expect(page).toContain("**missed**");
    expect(page).toContain("12.00 MiB");
  });

  it("escapes a scenario's name", () => {
    expect(selfTestPage([trial("peak", true, "<img src=x> | @all")])).not.toMatch(/<img|@all/);
  });

  it("counts only the requested kinds", () => {
    const trials = [trial("canary", true), trial("peak", true), trial("growth", false)];
    expect(tallyOf(trials, ["peak", "growth"])).toEqual({ hits: 1, tries: 2 });
  });
});
