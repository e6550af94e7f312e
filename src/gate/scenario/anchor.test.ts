import { describe, expect, it } from "vitest";
import type { Measurements } from "../../analysis/measurements.ts";
import { DEFAULT_POLICY } from "../../verdict/model/defaults.ts";
import { type Anchor, findAnchor, parseAnchors } from "./anchor.ts";
import { anchorOf, anchorStanding, serializeAnchors, withAnchor } from "./anchor-changes.ts";

const MIB = 1024 ** 2;
const HERE = { backend: "cuda", device_model: "H100" };

const night = (peaks: readonly number[]): Measurements => ({
  scenario: "train",
  fingerprint: HERE,
  runs: peaks.map((peak_bytes, at) => ({
    session: "s",
    commit: "a".repeat(40),
    series: [
      { rank: 0, device: "cuda:0", metric: "allocated", peak_bytes },
      { rank: 0, device: "host", metric: "host", peak_bytes: 10 * MIB + at },
    ],
  })),
});

const made = (peaks: readonly number[], fingerprint = HERE): Anchor =>
  anchorOf("train", fingerprint, night(peaks).runs, { setIso: "2026-11-21T03:17:09.123Z", commit: "a".repeat(40) });

describe("a release anchor", () => {
  it("a release anchor is the median peak of every series, and is the same after a round trip", () => {
    const anchor = made([100 * MIB, 300 * MIB, 110 * MIB]);
    expect(anchor.series).toEqual([
      [0, "cuda:0", "allocated", 110 * MIB],
      [0, "host", "host", 10 * MIB + 1],
    ]);
    expect(parseAnchors(serializeAnchors([anchor]), "x")).toEqual([anchor]);
  });

  it("a release anchor is exceeded only beyond its margin, and not while one run is within it", () => {
    const anchor = made([1000 * MIB]);
    const verdicts = (peaks: readonly number[]) =>
      anchorStanding(night(peaks), anchor, DEFAULT_POLICY).flatMap(({ gating, verdict }) => (gating ? [verdict] : []));
    expect(verdicts([1049 * MIB, 1049 * MIB])).toEqual(["pass"]);
    expect(verdicts([1051 * MIB, 1051 * MIB])).toEqual(["fail"]);
    // One run within the limit passes.
    expect(verdicts([1051 * MIB, 1049 * MIB])).toEqual(["pass"]);
  });

  it("a release anchor detects twenty steps of 0.4 % that are too small one by one", () => {
    const anchor = made([1000 * MIB]);
    let level = 1000 * MIB;
    const exceeded = Array.from({ length: 20 }, () => {
      level *= 1.004;
      return anchorStanding(night([level, level]), anchor, DEFAULT_POLICY).some(({ verdict }) => verdict === "fail");
    });
    expect(exceeded.indexOf(true)).toBe(12);
    expect(exceeded.slice(12)).not.toContain(false);
  });

  it("findAnchor returns an anchor of the same scenario and environment only", () => {
    const anchors = [made([1], { backend: "cuda", device_model: "A100" }), made([2])];
    expect(findAnchor(anchors, "train", HERE)?.series[0]?.[3]).toBe(2);
    expect(findAnchor(anchors, "train", { backend: "cpu" })).toBeNull();
    expect(findAnchor(anchors, "serve", HERE)).toBeNull();
  });

  it("a release anchor replaces its predecessor and keeps the others", () => {
    const other = made([7], { backend: "cuda", device_model: "A100" });
    const moved = withAnchor(withAnchor([other], made([1])), made([2]));
    expect(moved).toHaveLength(2);
    expect(findAnchor(moved, "train", HERE)?.series[0]?.[3]).toBe(2);
    expect(findAnchor(moved, "train", other.fingerprint)).toEqual(other);
  });

  it.each([
    ["{", "ANCHORS_INVALID"],
    ["[]", "ANCHORS_INVALID"],
    ['{"schema":"stormlog.anchors/2","anchors":[]}', "INPUT_SCHEMA_VERSION"],
    ['{"schema":"stormlog.anchors/1","anchors":[{"scenario":"a"}]}', "ANCHORS_INVALID"],
    [
      '{"schema":"stormlog.anchors/1","anchors":[{"scenario":"a","fingerprint":{},"set":"","commit":null,"series":[[0,"host","host",-1]]}]}',
      "ANCHORS_INVALID",
    ],
  ])("parseAnchors rejects anchors that cannot be read: %s", (text, code) => {
    expect(() => parseAnchors(text, "stormlog-anchors.json")).toThrow(expect.objectContaining({ code, exitCode: 5 }));
  });
});
