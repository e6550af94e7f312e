import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { analyze } from "../../src/analysis/analyze.ts";
import { readTelemetry } from "../../src/inputs/foreign/read.ts";
import { peersOf } from "./testing/peers.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "traceml-peer-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

for (const { version, installed, run } of peersOf("traceml-ai"))
  describe.skipIf(!installed)(`TraceML ${version} (scripts/ci/peers.sh installs it)`, () => {
    it("leaves a database and a summary of a CPU run that both give the ranks' host memory", async () => {
      const [database, summary] = [path.join(directory, "telemetry"), path.join(directory, "final_summary.json")];
      expect(run("traceml_peer.py", database, summary)).toBeGreaterThanOrEqual(1.4);
      const answers = [];
      for (const file of [database, summary]) {
        const telemetry = await readTelemetry(file);
        if (telemetry.kind !== "recording") throw new Error("no recording");
        const { series, diagnosis } = analyze(telemetry.recording);
        answers.push({
          series: series.map(({ rank, device, metric }) => ({ rank, device, metric })),
          diagnosis: diagnosis.map(({ kind }) => kind),
          peaks: series.map(({ peak_bytes }) => peak_bytes),
          classes: series.map((one) => one.class),
        });
      }
      const [stored, summarised] = answers;
      const host = { device: "host", metric: "host" };
      for (const one of answers) {
        expect(one.series).toEqual([
          { rank: 0, ...host },
          { rank: 1, ...host },
        ]);
        expect(one.diagnosis).toEqual(["NO_GPU"]);
      }
      expect(stored).toMatchObject({ peaks: [559e6, 659e6], classes: ["leak", "leak"] });
      // The mean of the samples: the summary has no other.
      expect(summarised).toMatchObject({ peaks: [529.5e6, 629.5e6], classes: ["insufficient", "insufficient"] });
    });
  });
