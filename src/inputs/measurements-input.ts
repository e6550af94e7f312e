import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import type { Measurements } from "../analysis/measurements.ts";
import { parseMeasurements, skippedMetrics } from "../analysis/parse-measurements.ts";
import { recordToMeasurements } from "../baseline/record.ts";
import { invalidInput } from "../core/errors.ts";
import { readJson } from "../core/files.ts";
import { groupBy } from "../core/group-by.ts";
import type { Recording } from "../telemetry/recording/model.ts";
import { listedFiles, verifyBundle } from "./verified-bundle.ts";

const MEASUREMENTS = "measurements.json";

/** The measurements of one scenario. */
interface ScenarioMeasurements {
  readonly measurements: Measurements;
  /** The file that has this scenario alone; null = recordings, which have none. */
  readonly file: string | null;
}

/** An input of `judge` or `compare`, with the notes of its reader. */
export interface JudgeableInput {
  readonly file: string;
  /** At least one. */
  readonly scenarios: readonly ScenarioMeasurements[];
  /** Whether it is of several scenarios, so that each is found by its name. */
  readonly several: boolean;
  readonly notes: readonly string[];
}

function inputOf(file: string, scenarios: readonly ScenarioMeasurements[], notes: readonly string[]): JudgeableInput {
  const skipped = new Set(scenarios.flatMap(({ measurements }) => skippedMetrics(file, measurements)));
  return { file, scenarios, several: scenarios.length > 1, notes: [...notes, ...skipped] };
}

type NamedRun = { readonly name: string; readonly recording: Recording };

/**
 * Judged features of recordings of any format by scenario, one run each. Analysis is loaded for recordings only.
 */
async function fromRecordings(recordings: readonly NamedRun[], file: string): Promise<ScenarioMeasurements[]> {
  const [{ analyze }, { measuredRun }] = await Promise.all([
    import("../analysis/analyze.ts"),
    import("../analysis/measured-run.ts"),
  ]);
  const nameOf = ({ recording }: NamedRun): string => recording.info?.scenario ?? path.basename(file);
  const scenarios = recordings.length === 0 ? [[path.basename(file), []] as const] : [...groupBy(recordings, nameOf)];
  return scenarios.map(([scenario, own]) => ({
    measurements: {
      scenario,
      fingerprint: own[0]?.recording.info?.fingerprint ?? null,
      runs: own.map(({ name, recording }) =>
        measuredRun(analyze(recording), {
          session: recording.info?.session ?? name,
          commit: recording.info?.commit ?? null,
        }),
      ),
    },
    file: null,
  }));
}

function readMeasurements(file: string): ScenarioMeasurements {
  const truncated = () => invalidInput("INPUT_TRUNCATED", `${file} is not complete JSON`, file);
  const content = readJson(file, (problem) =>
    problem.kind === "absent" || problem.kind === "unreadable" ? problem.cause : truncated(),
  );
  return { measurements: parseMeasurements(content, file), file };
}

/** Paths within the bundle of the files that have one of several scenarios each; empty for a bundle of one scenario. */
function scenarioFiles(directory: string): readonly string[] {
  const runs = path.join(directory, "runs");
  if (!existsSync(runs)) return [];
  const names = readdirSync(runs)
    .sort()
    .map((name) => `runs/${name}/${MEASUREMENTS}`);
  return names.filter((name) => existsSync(path.join(directory, name)));
}

async function inputOfBundle(directory: string): Promise<JudgeableInput | null> {
  const file = path.join(directory, MEASUREMENTS);
  if (!existsSync(file)) return null;
  const worst = readMeasurements(file);
  const present = scenarioFiles(directory);
  const each = present.map((name) => readMeasurements(path.join(directory, name)));
  // A listed file that was removed must not turn a bundle of several scenarios into one of a single scenario.
  // The measurements of one of several scenarios in a bundle.
  const listed = await listedFiles(directory, /^runs\/[^/]+\/measurements\.json$/);
  const note = await verifyBundle(directory, [...new Set([MEASUREMENTS, ...present, ...listed])]);
  // A scenario without a run has no directory, and is only in the file of the worst scenario.
  const alone = each.every(({ measurements }) => measurements.scenario !== worst.measurements.scenario);
  const input = inputOf(directory, alone ? [worst, ...each] : each, note === null ? [] : [note]);
  return { ...input, several: each.length > 0 };
}

/** Read anything that can be judged. @throws GateError INPUT_… and INPUT_SCHEMA_VERSION (exit 5) */
export async function judgeableInput(file: string): Promise<JudgeableInput> {
  const ofBundle = await inputOfBundle(file);
  if (ofBundle !== null) return ofBundle;
  const { readInput } = await import("./telemetry-input.ts");
  const telemetry = await readInput(file);
  switch (telemetry.kind) {
    case "measurements":
      return inputOf(file, [{ measurements: parseMeasurements(telemetry.document, file), file }], []);
    case "baseline":
      return inputOf(file, [{ measurements: recordToMeasurements(telemetry.document, file), file }], []);
    case "recording":
      return inputOf(
        file,
        await fromRecordings([{ name: file, recording: telemetry.recording }], file),
        telemetry.notes,
      );
    case "runs":
      return inputOf(file, await fromRecordings(telemetry.runs, file), telemetry.notes);
    default:
      return telemetry satisfies never;
  }
}
