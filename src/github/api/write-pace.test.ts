import { describe, expect, it } from "vitest";
import { WritePace } from "./octokit.ts";

describe("the pace of writes", () => {
  it("lets ten writes follow each other, then one a second, and refills while nothing is written", async () => {
    let clock = 0;
    const pace = new WritePace(
      () => clock,
      async (ms) => {
        clock += ms;
      },
    );
    const times: number[] = [];
    const write = async (): Promise<void> => void times.push(clock);
    await Promise.all(Array.from({ length: 13 }, () => pace.key().schedule({}, write)));
    expect(times).toEqual([...Array(10).fill(0), 1000, 2000, 3000]);
    clock += 3500;
    times.length = 0;
    for (let i = 0; i < 5; i++) await pace.schedule({}, write);
    expect(times).toEqual([6500, 6500, 6500, 7000, 8000]);
  });

  it("goes on after a write that failed", async () => {
    const pace = new WritePace();
    await expect(pace.schedule({}, () => Promise.reject(new Error("x")))).rejects.toThrow("x");
    expect(await pace.schedule({}, async () => 1)).toBe(1);
  });
});
