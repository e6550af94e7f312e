import { describe, expect, it } from "vitest";
import { samplingError } from "./sampling-error.ts";

const STATS = {
  ticks: 100,
  missedTicks: 0,
  deviceTicks: 0,
  durationNs: 5e8,
  hostPeriodNs: 5e6,
  devicePeriodNs: 2e7,
  cpuNs: 1e6,
  writeError: null,
};

describe("samplingError", () => {
  it.each([
    ["a whole record", {}],
    ["samples that a busy machine missed", { missedTicks: 80 }],
    ["a full disk", { writeError: "ENOSPC: no space left on device" }],
    ["a full quota", { writeError: "EDQUOT: disk quota exceeded" }],
  ])("samplingError is null for %s", (_, stats) => {
    expect(samplingError({ ...STATS, ...stats })).toBeNull();
  });

  it.each([["a write that a limit refused", { writeError: "EFBIG: file too large" }, "RECORD_FILE_INCOMPLETE"]])(
    "samplingError is an error for %s",
    (_, stats, code) => {
      expect(samplingError({ ...STATS, ...stats })).toMatchObject({ code, kind: "error" });
    },
  );
});
