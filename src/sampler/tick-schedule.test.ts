import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Governor, TickSchedule } from "./tick-schedule.ts";

const MS = 1e6;

describe("TickSchedule", () => {
  it("stays on its grid when ticks come a little late", () => {
    const schedule = new TickSchedule(5 * MS, 0);
    expect(schedule.take(0)).toBe(0);
    expect(schedule.take(5.4 * MS)).toBeCloseTo(0.4 * MS);
    expect(schedule.untilNext(5.4 * MS)).toBeCloseTo(4.6 * MS);
    expect(schedule.missed).toBe(0);
  });

  it("skips what it missed and counts it, without a burst", () => {
    const schedule = new TickSchedule(5 * MS, 0);
    schedule.take(0);
    schedule.take(27 * MS);
    expect(schedule.missed).toBe(4);
    expect(schedule.untilNext(27 * MS)).toBe(3 * MS);
  });

  it("accounts for every deadline as taken or missed", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 100 }), (waits) => {
        const schedule = new TickSchedule(5 * MS, 0);
        let now = 0;
        let taken = 0;
        for (const wait of waits) {
          now += wait * MS;
          if (schedule.untilNext(now) > 0) continue;
          schedule.take(now);
          taken += 1;
        }
        expect(schedule.untilNext(now)).toBeGreaterThan(0);
        expect(taken + schedule.missed).toBe(Math.floor(now / (5 * MS)) + 1);
      }),
    );
  });
});

describe("Governor", () => {
  const second = 1e9;

  it("doubles the period when ticks cost more than the budget", () => {
    const governor = new Governor(0.01, 5 * MS, 0);
    expect(governor.spent(20 * MS, second, 5 * MS)).toBe(10 * MS);
  });

  it("goes back to the wished period once there is room, and no further", () => {
    const governor = new Governor(0.01, 5 * MS, 0);
    expect(governor.spent(1 * MS, second, 20 * MS)).toBe(10 * MS);
    expect(governor.spent(1 * MS, 2 * second, 5 * MS)).toBe(5 * MS);
  });

  it("never goes below 1 Hz and does not change within a second", () => {
    const governor = new Governor(0.01, 5 * MS, 0);
    expect(governor.spent(900 * MS, second / 2, 5 * MS)).toBe(5 * MS);
    expect(governor.spent(900 * MS, second, 800 * MS)).toBe(second);
  });
});
