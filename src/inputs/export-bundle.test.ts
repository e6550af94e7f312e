import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { telemetryEvents } from "../telemetry/formats/stormlog/sample-events.ts";
import { writeRunFiles } from "../telemetry/run-directory.ts";
import { recording, recordingInfo } from "../telemetry/testing/recordings.ts";
import { exportBundle } from "./export-bundle.ts";
import { readTelemetry } from "./foreign/read.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "export-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

it("exports a run as a table of Stormlog events, which reads back", async () => {
  const run = recording({ info: recordingInfo() });
  await writeRunFiles(directory, run);
  const { bytes } = await exportBundle(directory, "events-csv");
  const file = path.join(directory, "exported.csv");
  writeFileSync(file, bytes);
  const telemetry = await readTelemetry(file);
  expect(telemetry).toMatchObject({ kind: "recording", format: "stormlog-csv", notes: [] });
  if (telemetry.kind === "recording") expect(telemetry.recording.events).toEqual(telemetryEvents(run));
});
