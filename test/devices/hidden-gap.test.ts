import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { noFakeNvml } from "./testing/fake-nvml.ts";
import { deviceOf, kindsOf, MIB, ONE_GPU, seen } from "./testing/measured.ts";
import { measuredAll } from "./testing/measured-all.ts";

const PROGRAM = path.join(fileURLToPath(new URL("fixtures", import.meta.url)), "hidden.py");
const absent = noFakeNvml();
/** Past the allocator goes what is given, MiB a step. */
const hidden = (mib: number, steps: number, stepMs: number) => [
  ...["python3", PROGRAM],
  ...[steps, stepMs, mib].map(String),
];
const run = measuredAll(
  absent !== null
    ? {}
    : {
        leaks: () => seen(ONE_GPU, hidden(20, 80, 60)),
        // Communicators end at the third step: 600 ms in which a reading must come.
        still: () => seen(ONE_GPU, hidden(0, 25, 200)),
        untold: () => seen([...ONE_GPU, "proc 0 0 job na"], hidden(20, 80, 60)),
      },
);

describe.skipIf(absent !== null)(`memory past the allocator${absent === null ? "" : ` (${absent})`}`, () => {
  it("memory past the allocator is divided into its components", () => {
    const { gap } = deviceOf(run("still"), "cuda:0");
    expect(gap).toEqual({
      level: "device",
      peak_bytes: 550 * MIB,
      context_bytes: 300 * MIB,
      library_bytes: 100 * MIB,
      communicator_bytes: 150 * MIB,
      later_bytes: 0,
    });
    expect(kindsOf(run("still"))).not.toContain("hidden_gap");
    expect(kindsOf(run("still"))).not.toContain("transient_spike");
  });

  it.each(["leaks", "untold"] as const)(
    "memory past the allocator that grows with the steps is a finding with its components (%s)",
    (name) => {
      const seenRun = run(name);
      const finding = seenRun.findings.find(({ classification }) => classification === "hidden_gap");
      expect(finding).toMatchObject({
        severity: "critical",
        device: "cuda:0",
        evidence: { context_bytes: 300 * MIB, library_bytes: 100 * MIB },
      });
      // What grew in the first three steps cannot be separated from communicators.
      expect(finding?.evidence.communicator_bytes).toBeGreaterThanOrEqual(150 * MIB);
      expect(finding?.evidence.communicator_bytes).toBeLessThanOrEqual(250 * MIB);
      expect(finding?.evidence.later_bytes).toBeGreaterThan(1300 * MIB);
      expect(finding?.description).toContain("Before that: 300.00 MiB the context, 100.00 MiB libraries, ");
      expect(seenRun.summary).toContain("hidden gap");
      expect(deviceOf(seenRun, "cuda:0").attribution).toBe(name === "leaks" ? "pid" : "device-delta");
      // By Stormlog's rules, too: 1.6 GiB are less than 5 % of the device, so they report nothing.
      expect(kindsOf(seenRun)).not.toContain("persistent_drift");
    },
  );
});
