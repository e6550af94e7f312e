import { describe, expect, it } from "vitest";
import type { Recording, RecordingInfo, SampleTable } from "../../telemetry/recording/model.ts";
import { unreadDeviceFindings } from "./unread-devices.ts";

const table = (device: string, column: "used" | "reserved" | "job", bytes: number): SampleTable => ({
  rank: 0,
  device,
  timeNs: new Float64Array([0]),
  steps: null,
  columns: { [column]: new Float64Array([bytes]) },
  highwater: new Set(),
});

function recording(tables: readonly SampleTable[], backend = "cuda", reason: string | null = "no answer"): Recording {
  const info = {
    fingerprint: { backend },
    sources: [{ name: "nvml", available: reason === null, reason, capabilities: [] }],
  } as unknown as RecordingInfo;
  return { epochNs: null, tables, peaks: [], marks: [], events: null, worldSize: 1, missing: {}, info };
}

describe("a GPU that was used and could not be read", () => {
  it("a GPU that was used and could not be read is reported with the reason", () => {
    expect(unreadDeviceFindings(recording([table("cuda:0", "reserved", 5)]))).toMatchObject([
      { classification: "device_unread", severity: "info", device: "cuda:0", evidence: { reason: "no answer" } },
    ]);
  });

  it("the finding device_unread is absent when the driver reported anything, even the job's share alone", () => {
    for (const column of ["used", "job"] as const) {
      const tables = [table("cuda:0", "reserved", 5), table("cuda:0", column, 9)];
      expect(unreadDeviceFindings(recording(tables))).toEqual([]);
    }
    const unknown = [table("cuda:0", "reserved", 5), table("cuda:0", "used", Number.NaN)];
    expect(unreadDeviceFindings(recording(unknown))).toHaveLength(1);
  });

  it("the finding device_unread is absent on a CPU run, with another vendor's GPU and in foreign telemetry", () => {
    expect(unreadDeviceFindings(recording([table("host", "reserved", 5)], "cpu"))).toEqual([]);
    expect(unreadDeviceFindings(recording([table("cuda:0", "reserved", 5)], "rocm"))).toEqual([]);
    expect(unreadDeviceFindings({ ...recording([table("cuda:0", "reserved", 5)]), info: null })).toEqual([]);
  });
});
