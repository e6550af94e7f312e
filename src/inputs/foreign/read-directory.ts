import { readdirSync } from "node:fs";
import path from "node:path";
import * as v from "valibot";
import { GateError, invalidInput } from "../../core/errors.ts";
import { readBounded } from "../../core/files.ts";
import { isRunDirectory, readRunDirectory } from "../../telemetry/read-run-directory.ts";
import { largestOf } from "../../telemetry/recording/common-clock.ts";
import { withFileErrors } from "../../telemetry/recording/input-file.ts";
import type { NamedRecording, Recording, Telemetry } from "../../telemetry/recording/model.ts";
import { readEventDirectory } from "./stormlog/event-source.ts";
import { eventsToRecording } from "./stormlog/events-recording.ts";

const RUNS = "runs";

function list(directory: string): string[] {
  return withFileErrors(directory, () => readdirSync(directory, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
}

/** Run directories below a bundle's `runs`, by name, with numbers in numeric order. */
function runNames(directory: string, prefix = "", depth = 0): string[] {
  // Runs are two levels below `runs` (`<scenario>/<n>`). Scenario names with slashes add levels.
  if (depth > 6) return [];
  return list(directory).flatMap((name) => {
    const child = path.join(directory, name);
    const label = prefix === "" ? name : `${prefix}/${name}`;
    return isRunDirectory(child) ? [label] : runNames(child, label, depth + 1);
  });
}

/** Base runs and attribution runs are not candidates: used only in a bundle without candidate runs. */
export function candidateRuns(names: readonly string[]): readonly string[] {
  const own = names.filter((name) => !/\/(?:base|attribution)-\d+(?:\/|$)/.test(name));
  return own.length === 0 ? names : own;
}

/**
 * Reads a directory: a run, a bundle with its runs, or a directory of Stormlog telemetry (export, dump, dumps, sink).
 * @throws GateError INPUT_IS_DIRECTORY when it is none, BUNDLE_WITHOUT_RUNS, INPUT_NO_PERMISSION, the readers' codes
 */
export async function readDirectory(directory: string): Promise<Telemetry> {
  const children = list(directory);
  if (isRunDirectory(directory)) {
    return { kind: "recording", format: "run-directory", ...(await readRunDirectory(directory)) };
  }
  if (children.includes(RUNS)) {
    const runs: NamedRecording[] = [];
    const notes: string[] = [];
    let firstError: GateError | null = null;
    for (const name of candidateRuns(runNames(path.join(directory, RUNS)))) {
      try {
        const run = await readRunDirectory(path.join(directory, RUNS, ...name.split("/")));
        runs.push({ name, recording: run.recording });
        notes.push(...run.notes.map((note) => `${name}: ${note}`));
      } catch (error) {
        // A run that was killed at its start must not hide the others.
        if (!(error instanceof GateError)) throw error;
        firstError ??= error;
        notes.push(`${name}: not read: ${error.message}`);
      }
    }
    if (runs.length === 0 && firstError) throw firstError;
    if (runs.length === 0) {
      throw invalidInput(
        "BUNDLE_WITHOUT_RUNS",
        "the bundle does not contain a run with samples",
        directory,
        "See its report.json.",
      );
    }
    return { kind: "runs", runs, notes };
  }
  const source = readDump(directory);
  if (source !== null) return { kind: "recording", format: "stormlog-directory", ...source };
  const dumps = children
    // Name of a dump's directory by Stormlog's flight recorder.
    .filter((name) => /^oom_dump_\d{8}T\d{6}Z_/.test(name))
    .flatMap((name): NamedRecording[] => {
      const dump = readDump(path.join(directory, name));
      return dump === null ? [] : [{ name, recording: dump.recording }];
    });
  if (dumps.length > 0) return { kind: "runs", runs: dumps, notes: [] };
  throw invalidInput(
    "INPUT_IS_DIRECTORY",
    "the directory is neither a run, nor a bundle, nor Stormlog telemetry",
    directory,
    "Name a file in it, or the bundle's directory.",
  );
}

function readDump(directory: string): { readonly recording: Recording; readonly notes: readonly string[] } | null {
  const source = readEventDirectory(directory);
  if (source === null) return null;
  return { recording: withDumpedError(eventsToRecording(source.events, directory), directory), notes: source.notes };
}

const MetadataSchema = v.object({
  reason: v.string(),
  exception_message: v.optional(v.nullable(v.string())),
});

/** Content of `metadata.json` of a dump; null when it is missing or unreadable. */
function metadataOf(directory: string): v.InferOutput<typeof MetadataSchema> | null {
  const file = path.join(directory, "metadata.json");
  try {
    // Maximum size of a dump's metadata, which is one message and some counters.
    const parsed = v.safeParse(MetadataSchema, JSON.parse(readBounded(file, 16 * 1024 * 1024).toString("utf8")), {
      abortEarly: true,
    });
    return parsed.success ? parsed.output : null;
  } catch {
    return null;
  }
}

function lastTime(recording: Recording): number {
  return Math.max(0, ...recording.tables.map(({ timeNs }) => largestOf(timeNs ?? []) ?? 0));
}

/** A dump's recording with its error's message and a mark at the end where the events lost them; others unchanged. */
function withDumpedError(recording: Recording, directory: string): Recording {
  const metadata = metadataOf(directory);
  if (metadata === null) return recording;
  const message = metadata.exception_message?.trim();
  const text = message === undefined || message === "" ? `OOM detected (${metadata.reason})` : message.slice(0, 2000);
  const known = recording.marks.some(({ kind }) => kind === "oom");
  const marks = known
    ? recording.marks.map((mark) => (mark.kind === "oom" ? { ...mark, text } : mark))
    : [...recording.marks, { timeNs: lastTime(recording), kind: "oom" as const, text }];
  return { ...recording, marks };
}
