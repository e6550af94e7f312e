import { describe, expect, it } from "vitest";
import { alignClocks, type RankClock, stepTimes } from "./clock-alignment.ts";

const EPOCH_NS = 1_700_000_000_000_000_000n;
const MS = 1_000_000;

/** A rank that begins late and whose clock is off. Its steps end together with those of the others. */
function clock(rank: number, { lateMs = 0, offMs = 0, from = 0, steps = 50 }): RankClock {
  const epochNs = EPOCH_NS + BigInt(lateMs + offMs) * BigInt(MS);
  // One row for each step from `from` on, 100 ms apart in real time.
  const rows = Float64Array.from({ length: steps }, (_, i) => i + from);
  const timeNs = rows.map((step) => (step * 100 - lateMs + 20) * MS);
  return { rank, firstNs: epochNs + BigInt(timeNs[0] ?? 0), moments: stepTimes(epochNs, timeNs, rows, null) };
}

describe("clocks of several ranks", () => {
  it("wall clocks are used when ranks began at different times and their machines keep time", () => {
    const late = clock(1, { lateMs: 1300, from: 13 });
    const aligned = alignClocks([late, clock(0, {})]);
    expect(aligned).toMatchObject({ used: "wall-clock", wallClockRanks: [1], wallClockErrorNs: 0 });
    expect(aligned.firstSampleErrorNs).toBe(1300 * MS);
    expect(aligned.offsets.get(1)).toBe(0n);
  });

  it("wall clocks are replaced by first samples when one is hours off", () => {
    const wrong = clock(1, { offMs: 7_200_000 });
    const aligned = alignClocks([clock(0, {}), wrong]);
    expect(aligned).toMatchObject({ used: "first-samples", wallClockRanks: [], firstSampleErrorNs: 0 });
    expect(aligned.offsets.get(1)).toBe(BigInt(7_200_000) * BigInt(MS));
  });

  it("the clock is chosen rank by rank, for any order of the ranks", () => {
    const all = [clock(0, {}), clock(1, { lateMs: 900, from: 9 }), clock(2, { offMs: -3_600_000 })];
    expect(alignClocks(all)).toMatchObject({ used: "both", wallClockRanks: [1] });
    // The order of the ranks has no effect.
    expect(alignClocks([...all].reverse())).toEqual(alignClocks(all));
  });

  it("ranks without common steps are aligned by first samples, as in Stormlog", () => {
    const bare = (rank: number, atMs: number): RankClock => ({
      rank,
      firstNs: EPOCH_NS + BigInt(atMs * MS),
      moments: null,
    });
    const aligned = alignClocks([bare(2, 40), bare(0, 0), bare(1, 20)]);
    expect(aligned).toMatchObject({ used: "first-samples", firstSampleErrorNs: null, wallClockErrorNs: null });
    expect([...aligned.offsets]).toEqual([
      [0, 0n],
      [1, 20_000_000n],
      [2, 40_000_000n],
    ]);
    expect(alignClocks([])).toMatchObject({ used: "first-samples", wallClockRanks: [] });
  });
});

describe("times of steps", () => {
  it("the times of steps are few, and ranks of different lengths have common ones", () => {
    const of = (length: number, from: number) => {
      const steps = Float64Array.from({ length }, (_, i) => from + i);
      return stepTimes(0n, steps, steps, null);
    };
    const [long, short] = [of(100_000, 0), of(3000, 50_000)];
    expect(long?.steps.length).toBeLessThanOrEqual(65);
    const common = short?.steps.filter((step) => long?.steps.includes(step));
    expect(common?.length).toBeGreaterThan(0);
  });

  it("the times of steps are those of their ends if the source records them", () => {
    const steps = Float64Array.of(1, 1, 2, 2, Number.NaN, 3);
    const times = Float64Array.of(10, 20, 30, 40, 50, 60);
    expect(stepTimes(5n, times, steps, Uint8Array.of(0, 1, 0, 1, 0, 1))).toMatchObject({
      steps: [1, 2, 3],
      atNs: [25n, 45n, 65n],
    });
    expect(stepTimes(5n, times, steps, null)?.atNs).toEqual([15n, 35n, 65n]);
    expect(stepTimes(5n, times, steps.fill(Number.NaN), null)).toBeNull();
  });
});
