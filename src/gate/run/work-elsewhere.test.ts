import { describe, expect, it } from "vitest";
import { MIB } from "../../core/units.ts";
import { recordingInfo } from "../../telemetry/testing/recordings.ts";
import { workElsewhere } from "./work-elsewhere.ts";

const said = (bytes: number | null, cpuS: number | undefined, durationS: number): string | null => {
  const { clock, ...info } = recordingInfo();
  const peak = { rank: 0, device: "host", metric: "host", kind: "sampled", source: "samples" } as const;
  const peaks = bytes === null ? [] : [{ ...peak, bytes }];
  return workElsewhere({
    ...info,
    clock: { ...clock, duration_s: durationS },
    peaks,
    ...(cpuS === undefined ? {} : { cpu_s: cpuS }),
  });
};

describe("a command that works elsewhere", () => {
  it("a client that waits gets a note of what it held and used itself", () => {
    expect(said(4 * MIB, 0.1, 12)).toBe(
      "4.00 MiB and 0.1 s of processor time here: the work may be in another process",
    );
    expect(said(4 * MIB, 0, 12)).toContain(" and under 0.1 s of processor time here");
  });

  it("a command that computes, holds memory or is short gets none, and neither does one of which too little is known", () => {
    expect(said(4 * MIB, 0.6, 60)).toBeNull();
    expect(said(4 * MIB, 0.3, 3)).toBeNull();
    expect(said(65 * MIB, 0.1, 12)).toBeNull();
    expect(said(4 * MIB, 0.01, 1.9)).toBeNull();
    expect(said(null, 0.1, 12)).toBeNull();
    expect(said(4 * MIB, undefined, 12)).toBeNull();
  });
});
