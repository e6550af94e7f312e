import { describe, expect, it } from "vitest";
import { noFakeNvml } from "./testing/fake-nvml.ts";
import {
  deviceOf,
  expectHostSampled,
  hostTimes,
  ONE_GPU,
  type Seen,
  seen,
  trainSteps,
  values,
} from "./testing/measured.ts";
import { measuredAll } from "./testing/measured-all.ts";

const HANG_MS = 5000;
/** Long enough to see the driver come back. */
const LONG = trainSteps(360);

const absent = noFakeNvml();
const run = measuredAll<Seen>(
  absent !== null
    ? {}
    : {
        // Side by side, so that both have the same machine.
        calm: () => seen(ONE_GPU, LONG),
        hangs: () => seen([...ONE_GPU, `hang 1000 ${HANG_MS}`], LONG),
        "hangs in a list": () => seen([...ONE_GPU, `hang 300 ${HANG_MS} processes`], LONG),
        "hangs to the end": () => seen([...ONE_GPU, "hang 1000 60000"], trainSteps(120)),
        "hangs at its start": () => seen([...ONE_GPU, "hang-init 60000"]),
      },
);

describe.skipIf(absent !== null)(`a driver that hangs${absent === null ? "" : ` (${absent})`}`, () => {
  it.each(["hangs", "hangs in a list"])(
    "a driver that hangs for five seconds costs no sample of the host: %s",
    (name) => {
      const hung = run(name);
      expect(hung.code).toBe(0);
      const used = values(hung.recording, "cuda:0", "used").map(({ ms }) => ms);
      const silences = used.map((ms, i) => ({ from: used[i - 1] ?? ms, to: ms, length: ms - (used[i - 1] ?? ms) }));
      const { from, to, length } = silences.reduce((most, one) => (one.length > most.length ? one : most));
      expect(length).toBeGreaterThan(HANG_MS * 0.95);
      // While the device hangs, the host is still sampled, as often as at that time of the calm run but for the
      // machine's pauses.
      expectHostSampled(hung.recording, from, to);
      const during = hostTimes(hung.recording, from, to).length;
      expect(during).toBeGreaterThan(hostTimes(run("calm").recording, from, to).length / 2);
    },
  );

  it.each(["hangs", "hangs in a list"])("a hang of the driver is a finding with its duration: %s", (name) => {
    const [stalled, ...more] = run(name).findings.filter(({ classification }) => classification === "device_stalled");
    expect(more).toEqual([]);
    expect(stalled).toMatchObject({ severity: "warning" });
    expect(stalled?.description).toMatch(/[45]\.\d s|5 s/);
    expect(run(name).recording.health?.map(({ kind }) => kind)).toEqual(["stalled", "recovered"]);
    expect(deviceOf(run(name), "cuda:0").attribution).not.toBe("none");
  });

  it("a hang to the end of the run delays nothing and is reported as not recovered", () => {
    const hung = run("hangs to the end");
    expect(hung.code).toBe(0);
    expectHostSampled(hung.recording, values(hung.recording, "cuda:0", "used").at(-1)?.ms ?? Number.NaN);
    const stalled = hung.findings.find(({ classification }) => classification === "device_stalled");
    expect(stalled?.description).toContain("had not recovered");
  });

  it("a driver that hangs at the first query is unavailable, and the host is still sampled", () => {
    const hung = run("hangs at its start");
    expect(hung.code).toBe(0);
    expect(hung.info.sources.find(({ name }) => name === "nvml")).toMatchObject({
      available: false,
      reason: expect.stringContaining("not answered"),
    });
    expect(values(hung.recording, "host", "host").length).toBeGreaterThan(50);
  });
});
