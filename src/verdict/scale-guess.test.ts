import { describe, expect, it } from "vitest";
import { MIB } from "../core/units.ts";
import { checkOf } from "./check.ts";
import { DEFAULT_POLICY } from "./defaults.ts";
import { judge } from "./judge.ts";
import { readCheck } from "./judgement-document.ts";
import { detectable, guessedSize, leadingCheck, measuredSize } from "./scale-guess.ts";

describe("the smallest leak that the rules see", () => {
  it("is the floor of the peak where nothing is known of the noise", () => {
    const found = detectable({ metric: "allocated", peaks: [], growths: [], headroom: 0 });
    expect(found.aspect).toBe("peak");
    expect(found.bytes).toBeGreaterThan(2 * MIB);
    expect(found.bytes).toBeLessThan(2.001 * MIB);
  });

  it("is that of the growth where the peaks differ more than the growths", () => {
    const peaks = [100, 130, 160, 190, 220].map((size) => size * MIB);
    const growths = [0, 0, 0, 0, 0];
    expect(detectable({ metric: "allocated", peaks, growths, headroom: 0 })).toMatchObject({ aspect: "growth" });
  });

  it("is that of the growth where a peak of the start hides what grows beneath it", () => {
    const peaks = [100, 100, 100, 100, 100].map((size) => size * MIB);
    const series = { metric: "allocated", peaks, growths: peaks.map(() => 0) } as const;
    const near = detectable({ ...series, headroom: 3 * MIB });
    expect(near.aspect).toBe("peak");
    expect(near.bytes).toBe(3 * MIB + detectable({ ...series, headroom: 0 }).bytes);
    expect(detectable({ ...series, headroom: 20 * MIB }).aspect).toBe("growth");
  });

  it("is what the verdict itself tells of the same runs", () => {
    const peaks = [100, 101, 100.5, 102, 101.5].map((size) => size * MIB);
    const series = (peak: number) => [
      { rank: 0, device: "host", metric: "allocated" as const, peak_bytes: peak, growth_bytes: 0 },
    ];
    const runs = peaks.map((peak) => ({ session: "s", commit: null, series: series(peak) }));
    const scenario = { scenario: "a", fingerprint: null };
    const { checks } = judge({
      baseline: { ...scenario, runs },
      candidate: { ...scenario, runs: [{ session: "s", commit: null, series: series(101 * MIB) }] },
      anchor: null,
      policy: DEFAULT_POLICY,
      baseRunsPossible: false,
    });
    const peak = checks.find(({ aspect }) => aspect === "peak");
    expect(detectable({ metric: "allocated", peaks, growths: peaks.map(() => 0), headroom: 0 })).toEqual({
      aspect: "peak",
      bytes: peak?.mde_bytes,
    });
  });
});

describe("the guess", () => {
  it("is where what is kept comes to what is needed", () => {
    expect(guessedSize({ constant: 0, perUnit: 1024 }, 2 * MIB)).toBe(2048);
    expect(guessedSize({ constant: MIB, perUnit: 1024 }, 2 * MIB)).toBe(1024);
  });

  it("knows that enough may be kept at any size, and that nothing grows without end", () => {
    expect(guessedSize({ constant: 3 * MIB, perUnit: 1024 }, 2 * MIB)).toBe(0);
    expect(guessedSize({ constant: MIB, perUnit: 0 }, 2 * MIB)).toBeNull();
    expect(guessedSize({ constant: MIB, perUnit: -1 }, 2 * MIB)).toBeNull();
  });

  it("follows one measured size in proportion, and two on their line", () => {
    const one = { value: 100, excess: MIB, needed: 2 * MIB };
    expect(measuredSize([one])).toBe(200);
    // A program whose fixed state keeps a little, too: nothing shows before 60.
    expect(measuredSize([one, { value: 180, excess: 3 * MIB, needed: 2 * MIB }])).toBeCloseTo(140);
  });

  it("says nothing where nothing grows", () => {
    expect(measuredSize([])).toBeNull();
    expect(measuredSize([{ value: 100, excess: -5, needed: MIB }])).toBeNull();
  });

  it("falls back to proportion where a larger size held less", () => {
    const seen = [
      { value: 100, excess: MIB, needed: 2 * MIB },
      { value: 200, excess: MIB / 2, needed: 2 * MIB },
    ];
    expect(measuredSize(seen)).toBe(200);
  });
});

describe("the leading check", () => {
  const key = { rank: 0, device: "host", metric: "allocated" } as const;
  const base = { limit: "baseline", gating: true, verdict: "pass", reason: "" } as const;
  const peak = checkOf(key, { ...base, aspect: "peak", candidate_bytes: 3, baseline_bytes: 2, mde_bytes: 2 });
  const growth = checkOf(key, { ...base, aspect: "growth", candidate_bytes: 4, baseline_bytes: 0, mde_bytes: 5 });

  it("is the one that came nearest to what it needs", () => {
    expect(leadingCheck([peak, growth])).toMatchObject({ aspect: "growth", excess_bytes: 4, mde_bytes: 5 });
  });

  it("is of what allocators count before pages, and of a red one before all", () => {
    const pages = { ...growth, metric: "host" as const, candidate_bytes: 400 };
    expect(leadingCheck([pages, peak])).toMatchObject({ metric: "allocated", aspect: "peak" });
    expect(leadingCheck([{ ...pages, verdict: "fail" as const }, peak])).toMatchObject({ metric: "host" });
  });

  it("is none that does not gate, is of a budget, or does not know a size", () => {
    const silent = [
      { ...growth, gating: false },
      readCheck({ ...peak, limit: "budget" }),
      { ...growth, candidate_bytes: null },
      { ...growth, mde_bytes: null },
      readCheck({ ...growth, aspect: "class" }),
    ];
    expect(leadingCheck(silent)).toBeNull();
    expect(leadingCheck([...silent, peak])).toMatchObject({ aspect: "peak" });
  });
});
