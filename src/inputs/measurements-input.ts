import { existsSync } from "node:fs";
import path from "node:path";
import type { Measurements } from "../analysis/measurements.ts";
import { parseMeasurements } from "../analysis/parse-measurements.ts";
import { recordToMeasurements } from "../baseline/record.ts";
import { invalidInput } from "../core/errors.ts";
import { readJson } from "../core/files.ts";
import type { Recording } from "../telemetry/recording/model.ts";
import { verifyBundle } from "./verified-bundle.ts";

/** Judged features of recordings of any format, one run each. Analysis is loaded for recordings only. */
async function fromRecordings(
  recordings: readonly { readonly name: string; readonly recording: Recording }[],
  file: string,
): Promise<Measurements> {
  const [{ analyze }, { measuredRun }] = await Promise.all([
    import("../analysis/analyze.ts"),
    import("../analysis/measured-run.ts"),
  ]);
  const first = recordings[0]?.recording.info ?? null;
  return {
    scenario: first?.scenario ?? path.basename(file),
    fingerprint: first?.fingerprint ?? null,
    runs: recordings.map(({ name, recording }) =>
      measuredRun(analyze(recording), {
        session: recording.info?.session ?? name,
        commit: recording.info?.commit ?? null,
      }),
    ),
  };
}

async function measurementsOfBundle(directory: string): Promise<NotedMeasurements | null> {
  const file = path.join(directory, "measurements.json");
  if (!existsSync(file)) return null;
  const truncated = () => invalidInput("INPUT_TRUNCATED", `${file} is not complete JSON`, file);
  const content = readJson(file, (problem) =>
    problem.kind === "absent" || problem.kind === "unreadable" ? problem.cause : truncated(),
  );
  const measurements = parseMeasurements(content, file);
  const note = await verifyBundle(directory, [path.basename(file)]);
  return { measurements, notes: note === null ? [] : [note] };
}

/** Measurements with the notes of their reader. */
export interface NotedMeasurements {
  readonly measurements: Measurements;
  readonly notes: readonly string[];
}

/** Read anything that can be judged. @throws GateError INPUT_… and INPUT_SCHEMA_VERSION (exit 5) */
export async function notedMeasurements(file: string): Promise<NotedMeasurements> {
  const ofBundle = await measurementsOfBundle(file);
  if (ofBundle !== null) return ofBundle;
  const { readInput } = await import("./telemetry-input.ts");
  const telemetry = await readInput(file);
  switch (telemetry.kind) {
    case "measurements":
      return { measurements: parseMeasurements(telemetry.document, file), notes: [] };
    case "baseline":
      return { measurements: recordToMeasurements(telemetry.document, file), notes: [] };
    case "recording":
      return {
        measurements: await fromRecordings([{ name: file, recording: telemetry.recording }], file),
        notes: telemetry.notes,
      };
    case "runs":
      return { measurements: await fromRecordings(telemetry.runs, file), notes: telemetry.notes };
    default:
      return telemetry satisfies never;
  }
}

/** {@link notedMeasurements} without the notes. */
export async function measurementsInput(file: string): Promise<Measurements> {
  return (await notedMeasurements(file)).measurements;
}
