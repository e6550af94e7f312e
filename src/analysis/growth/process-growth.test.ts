import { describe, expect, it } from "vitest";
import { recording, recordingInfo, table } from "../../telemetry/testing/recordings.ts";
import { collectSeries } from "../series/series.ts";
import { processGrowth } from "./process-growth.ts";

const MIB = 2 ** 20;
const S = 1e9;

/** Growth of roles that are read in 32 stretches of a second, MiB by stretch. */
function growthOf(roles: Readonly<Record<string, (stretch: number) => number>>, seconds = 32, loopFromS?: number) {
  const timeNs = Float64Array.from({ length: 10 * seconds }, (_, i) => (i * S) / 10);
  const host = table({
    timeNs,
    steps: loopFromS === undefined ? null : timeNs.map((at, i) => (at < loopFromS * S ? Number.NaN : i)),
    columns: { host: timeNs.map(() => MIB) },
  });
  const processes = {
    begin_ns: 0,
    bin_ns: S,
    roles: Object.entries(roles).map(([role, mib]) => {
      const bytes = Array.from({ length: 32 }, (_, i) => mib(i) * MIB);
      return { role, program: "main.py", pids: 1, peak_bytes: Math.max(...bytes), bytes };
    }),
  };
  const measured = recording({ tables: [host], info: recordingInfo({ processes }) });
  return processGrowth(measured, collectSeries(measured)).map(({ growth_bytes, share, ...rest }) => ({
    ...rest,
    growth: growth_bytes === null ? null : growth_bytes / MIB,
    share,
  }));
}

describe("growth by process", () => {
  it("the process that grows has the whole share, and teeth of another have none", () => {
    const found = growthOf({ main: (i) => 10 + i, workers: (i) => 24 + (i % 2) });
    expect(found).toMatchObject([
      { role: "main", share: 1, window_s: 30 },
      { role: "workers", share: 0 },
    ]);
    expect(found[0]?.growth).toBeCloseTo(23, 0);
  });

  it("what a process gained before the first step of the loop is its start", () => {
    const found = growthOf({ main: (i) => Math.min(i, 10), other: (i) => (i < 10 ? 0 : i) }, 32, 10);
    expect(found).toMatchObject([
      { role: "main", share: 0, growth: 0 },
      { role: "other", share: 1 },
    ]);
  });

  it("processes have no share where nothing grew, and no growth in a run of a few stretches", () => {
    expect(growthOf({ a: () => 5, b: () => 6 })).toMatchObject([{ share: null }, { share: null }]);
    expect(growthOf({ a: (i) => i, b: () => 6 }, 8)).toMatchObject([{ growth: null, share: null }, { growth: null }]);
  });
});
