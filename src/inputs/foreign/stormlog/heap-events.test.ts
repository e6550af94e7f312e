import { describe, expect, it } from "vitest";
import { statisticsDocument } from "../../../telemetry/formats/stormlog/artifacts.ts";
import { telemetryEvents } from "../../../telemetry/formats/stormlog/sample-events.ts";
import { recording, recordingInfo, series, table } from "../../../telemetry/testing/recordings.ts";

const MIB = 2 ** 20;

/** Two seconds: pages of the tree at 200 Hz, the heap at 50 Hz with one spike between two of its neighbours. */
function heapRun(heapFrom = 0) {
  const pages = series(400, 5e6, (i) => (200 + (i % 3)) * MIB);
  const heap = series(100, 20e6, (i) => (i === 41 ? 150 * MIB : (60 + i / 100) * MIB));
  const rows = heap.timeNs.map((time) => time + heapFrom);
  return recording({
    info: recordingInfo(),
    tables: [
      table({ timeNs: pages.timeNs, columns: { host: pages.values, rss: pages.values } }),
      table({ timeNs: rows, columns: { allocated: heap.values, reserved: heap.values.map((bytes) => bytes + MIB) } }),
    ],
    peaks: [{ rank: 0, device: "host", metric: "allocated", bytes: 151 * MIB, kind: "sampled", source: "mallinfo2" }],
  });
}

describe("telemetry of a run with heap samples", () => {
  it("telemetry exports the heap as the allocator and the tree's pages as the device, at about 10 Hz", () => {
    const events = telemetryEvents(heapRun());
    const samples = events.filter(({ eventType }) => eventType === "sample");
    expect(samples.length).toBeGreaterThan(15);
    expect(samples.length).toBeLessThan(30);
    for (const event of samples) {
      expect(event).toMatchObject({ collector: "stormlog_gate.heap_probe", deviceId: -1, deviceTotal: null });
      expect(event.allocatorReserved).toBe(event.allocatorAllocated! + MIB);
      expect(event.deviceUsed).toBeGreaterThanOrEqual(200 * MIB);
    }
    expect(Math.max(...samples.map((event) => event.allocatorAllocated!))).toBe(150 * MIB);
    expect(Math.max(...samples.map((event) => event.deviceUsed!))).toBe(202 * MIB);
    expect(statisticsDocument(events, heapRun())).toMatchObject({ peak_memory: 151 * MIB, mode: "cpu" });
  });

  it("telemetry exports the tree's pages when the heap was sampled for less than half of the run", () => {
    const run = heapRun();
    const [pages, heap] = run.tables;
    const short = { ...heap!, timeNs: heap!.timeNs!.map((time) => 1.99e9 + time / 1e6) };
    const events = telemetryEvents({ ...run, tables: [pages!, short] });
    expect(new Set(events.map(({ collector }) => collector))).toEqual(new Set(["stormlog.cpu_tracker"]));
  });
});

describe("telemetry of a device with two clocks", () => {
  it("telemetry of a device with two clocks is one series, with the allocator's counters and the driver's", () => {
    const driver = series(100, 20e6, (i) => (i === 33 ? 9 : 8) * 1024 * MIB);
    const own = series(90, 22e6, (i) => (i === 50 ? 5 : 4) * 1024 * MIB);
    const run = recording({
      tables: [
        table({ device: "cuda:0", timeNs: driver.timeNs, columns: { used: driver.values } }),
        table({
          device: "cuda:0",
          timeNs: own.timeNs,
          columns: { allocated: own.values, reserved: own.values, active: own.values },
        }),
      ],
    });
    const samples = telemetryEvents(run).filter(({ eventType }) => eventType === "sample");
    expect(new Set(samples.map(({ collector, deviceId }) => `${collector} ${deviceId}`))).toEqual(
      new Set(["stormlog.cuda_tracker 0"]),
    );
    expect(Math.max(...samples.map((event) => event.allocatorAllocated!))).toBe(5 * 1024 * MIB);
    expect(Math.max(...samples.map((event) => event.deviceUsed!))).toBe(9 * 1024 * MIB);
    expect(samples.every((event) => event.deviceUsed! >= 8 * 1024 * MIB)).toBe(true);
  });
});
