import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { analyze } from "../../src/analysis/analyze.ts";
import { MIB } from "../../src/core/units.ts";
import { readTelemetry } from "../../src/inputs/foreign/read.ts";
import { stormlogReport } from "../../src/report/documents/envelope.ts";
import {
  SAMPLE_FINDING,
  sampleCheck,
  sampleJudgement,
  sampleReport,
  sampleScenario,
} from "../../src/report/testing/sample-report.ts";
import { writeRunFiles } from "../../src/telemetry/run-directory.ts";
import { recording, recordingInfo, series, table } from "../../src/telemetry/testing/recordings.ts";
import { capabilities, v2Record } from "../../src/telemetry/testing/stormlog-records.ts";
import { peersOf } from "./testing/peers.ts";

const SCRIPT = "stormlog_peer.py";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "stormlog-peer-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const GAP_FINDINGS: ReadonlySet<string> = new Set(["transient_spike", "persistent_drift", "fragmentation_like"]);

/** A generator of uniform numbers, so that every run tries the same files. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A file of random telemetry, some with spikes, drift and inactive blocks. */
function randomEvents(random: () => number, version: 2 | 4): Record<string, unknown>[] {
  const total = 2 ** 34;
  const n = 3 + Math.floor(random() * 40);
  const [drift, spikes, split, spread] = [random() * 3e7, random() < 0.5, random(), random() * 2e8];
  return Array.from({ length: n }, (_, i) => {
    const reserved = Math.round(2e9 + random() * spread);
    const used = Math.round(reserved + 5e8 * random() + drift * i + (spikes && random() < 0.1 ? 3e9 : 0));
    return v2Record({
      schema_version: version,
      timestamp_ns: 1.7e12 + i * 1e8,
      allocator_allocated_bytes: Math.round(reserved * (0.2 + 0.7 * random())),
      allocator_reserved_bytes: reserved,
      allocator_inactive_bytes: random() < 0.1 && version === 2 ? null : Math.round(reserved * split * random()),
      device_used_bytes: used,
      device_free_bytes: total - used,
      device_total_bytes: total,
      ...(version === 2
        ? {}
        : {
            session_id: "s",
            metadata: {
              memory_capabilities: capabilities({
                supports_allocator_inactive: true,
                supports_fragmentation_analysis: random() < 0.9,
              }),
            },
          }),
    });
  });
}

for (const { version, installed, run } of peersOf("stormlog", "0.4"))
  describe.skipIf(!installed)(`Stormlog ${version} (scripts/ci/peers.sh installs it)`, () => {
    it("loads a report whose findings have ids that it accepts, each once", () => {
      const check = sampleCheck({ verdict: "fail" });
      const failed = sampleScenario("fail", {
        scenario: "Träin/8×",
        findings: [SAMPLE_FINDING, SAMPLE_FINDING, { ...SAMPLE_FINDING, rank: null, device: null, metric: null }],
        judgement: sampleJudgement("fail", { checks: [check, check] }),
      });
      const report = stormlogReport(sampleReport("fail", { scenarios: [failed, sampleScenario("error")] }));
      const file = path.join(directory, "report.json");
      writeFileSync(file, JSON.stringify(report));
      const ids = run(SCRIPT, "report", file) as string[];
      expect(ids.length).toBeGreaterThan(4);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids).toContain("leak.tr_in_8_.rank0.cuda_0.allocated");
    });

    it("exports CSV that is read with its metadata", async () => {
      const file = path.join(directory, "events.csv");
      const events = run(SCRIPT, "events", file);
      expect(readFileSync(file, "utf8")).toContain("'memory_capabilities': {'");
      const telemetry = await readTelemetry(file);
      if (telemetry.kind !== "recording") throw new Error("no recording");
      expect(telemetry.notes).toEqual([]);
      expect(telemetry.recording.events).toHaveLength(Number(events));
      expect(telemetry.recording.events?.every(({ isV4 }) => isV4)).toBe(true);
      expect(analyze(telemetry.recording).rules).toEqual({ fragmentation_like: ["0.4.3"] });
    });

    it("loads each run of a bundle as a session of its own, every sample once", async () => {
      for (const run of [1, 2]) {
        const runDirectory = path.join(directory, "runs", "train", String(run));
        mkdirSync(runDirectory, { recursive: true });
        const info = { ...recordingInfo(), session: "job-7", scenario: "train", run };
        const { timeNs, values } = series(20, 1e8, (i) => (100 + i + run) * MIB);
        await writeRunFiles(runDirectory, recording({ info, tables: [table({ timeNs, columns: { host: values } })] }));
      }
      writeFileSync(path.join(directory, "manifest.json"), JSON.stringify({ version: 1, files: [] }));
      const samples = JSON.parse(
        readFileSync(path.join(directory, "runs", "train", "1", "events.json"), "utf8"),
      ).filter((event: { event_type: string }) => event.event_type === "sample").length;
      expect(samples).toBeGreaterThan(5);
      expect(run(SCRIPT, "artifacts", directory)).toEqual({
        warnings: expect.not.arrayContaining([expect.stringContaining("Failed")]),
        sessions: { "job-7/train/1": samples, "job-7/train/2": samples },
      });
    });
  });

// Each release is the reference for the versions of telemetry that were its own.
for (const { version, installed, run } of peersOf("stormlog"))
  describe.skipIf(!installed)(`the gap findings of Stormlog ${version} (scripts/ci/peers.sh installs it)`, () => {
    it("the gap findings of Stormlog equal the gate's, to the digit, for random files", async () => {
      const random = randomNumbers(20261123);
      const schema = version.startsWith("0.2.") || version.startsWith("0.3.") ? 2 : 4;
      const files = Array.from({ length: 50 }, (_, i) => String(i).padStart(3, "0"));
      for (const file of files)
        writeFileSync(path.join(directory, `${file}.json`), JSON.stringify(randomEvents(random, schema)));
      const theirs = run(SCRIPT, "gaps", directory) as Record<string, unknown[]>;
      let fragmented = 0;
      for (const file of files) {
        const telemetry = await readTelemetry(path.join(directory, `${file}.json`));
        if (telemetry.kind !== "recording") throw new Error("no recording");
        const { findings, rules } = analyze(telemetry.recording);
        expect(rules).toEqual({ fragmentation_like: [schema === 2 ? "0.3.10" : "0.4.3"] });
        const gap = findings.filter(({ classification }) => GAP_FINDINGS.has(classification));
        fragmented += Number(gap.some(({ classification }) => classification === "fragmentation_like"));
        const shown = gap.map(({ classification, severity, confidence, evidence, description }) => [
          classification,
          severity,
          confidence,
          evidence,
          classification === "persistent_drift" ? expect.anything() : description,
        ]);
        expect(theirs[file], file).toEqual(shown);
      }
      expect(fragmented).toBeGreaterThan(8);
    });
  });
