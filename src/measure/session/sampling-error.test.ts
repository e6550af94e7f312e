import { describe, expect, it } from "vitest";
import { samplingError } from "./recording-info.ts";

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
    ["a whole record", {}, false],
    ["samples that a busy machine missed", { missedTicks: 80 }, false],
    ["a stop that cost no sample", {}, true],
  ])("samplingError is null for %s", (_, stats, stopped) => {
    expect(samplingError({ ...STATS, ...stats }, stopped)).toBeNull();
  });

  it.each([
    ["a full disk", { writeError: "ENOSPC: no space left on device" }, false, "RECORD_FILE_INCOMPLETE"],
    ["a write that a limit refused", { writeError: "EFBIG: file too large" }, false, "RECORD_FILE_INCOMPLETE"],
    ["samples that a stopped gate missed", { missedTicks: 80 }, true, "GATE_STOPPED"],
  ])("samplingError is an error for %s", (_, stats, stopped, code) => {
    expect(samplingError({ ...STATS, ...stats }, stopped)).toMatchObject({ code, kind: "error" });
  });
});
