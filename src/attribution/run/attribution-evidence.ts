import path from "node:path";
import { GateError } from "../../core/errors.ts";
import { type JsonProblem, readJson } from "../../core/files.ts";
import { groupBy } from "../../core/group-by.ts";
import { readSnapshotFile } from "../../inputs/snapshot-input.ts";
import type { ProcessEvidence } from "../../snapshot/growth/attribution.ts";
import { type LinesSample, parseLines } from "../../snapshot/growth/lines-document.ts";
import { growthOverSnapshots } from "../../snapshot/live/snapshot-growth.ts";
import { snapshotName } from "../../snapshot/model/file-names.ts";
import type { Frame } from "../../snapshot/model/frames.ts";
import { keepProbeFiles, processOf, readKept } from "./probe-output.ts";

const LINES_FILE = /^(\d{1,10}\.\d{1,9})\.lines\.\d{1,6}(?:\.[a-z0-9-]{1,40})?\.json$/;
export const SNAPSHOT_FILE = /^(\d{1,10}\.\d{1,9})\.snapshot\.\d{1,6}\.pickle$/;
/** Maximum number of processes that are read. */
const MAX_PROCESSES = 256;

export interface AttributionEvidence {
  readonly processes: readonly ProcessEvidence[];
  /** Files that could not be read, with the reasons. */
  readonly notes: readonly string[];
}

function readLines(file: string): LinesSample {
  const refuse = (problem: JsonProblem): GateError => {
    const damaged = "the list of lines is cut or damaged";
    const why = problem.kind === "too-large" ? `a list of lines cannot have ${problem.bytes} bytes` : damaged;
    return new GateError("LINES_INVALID", why);
  };
  // The measured program could write these files; those of the probe are smaller than this.
  return parseLines(readJson(file, refuse, 64 * 1024 * 1024), file);
}

/**
 * Read the files that the processes of an attribution run wrote into its probe directory, and move them to the run's
 * `snapshots/`. A file that cannot be read is a note.
 * @throws Error when the files cannot be moved (no space, no permission)
 */
export function attributionEvidence(directory: string, isUserFrame: (frame: Frame) => boolean): AttributionEvidence {
  const notes: string[] = [];
  const note = (text: string) => notes.push(text);
  const files = [LINES_FILE, SNAPSHOT_FILE].flatMap((wanted) => keepProbeFiles(directory, wanted));
  const byProcess = groupBy(files, processOf);
  const processes = [...byProcess].slice(0, MAX_PROCESSES).map(([process, own]): ProcessEvidence => {
    const named = (wanted: RegExp) => own.filter((file) => wanted.test(path.basename(file)));
    const samples = readKept(named(LINES_FILE), readLines, note);
    // A snapshot has no step number, but the lines taken with it do.
    const steps = new Map(samples.map(({ moment, sample }) => [moment, sample.step]));
    const read = (file: string) => {
      const { moment } = snapshotName(file);
      return { snapshot: readSnapshotFile(file), step: moment === null ? null : (steps.get(moment) ?? null) };
    };
    const snapshots = readKept(named(SNAPSHOT_FILE), read, note);
    const devices = growthOverSnapshots(snapshots, isUserFrame);
    return {
      process,
      moments: samples,
      devices: devices.map(({ device, growth }) => ({ device: `cuda:${device}`, growth })),
    };
  });
  if (byProcess.size > MAX_PROCESSES)
    notes.push(`the lines of ${byProcess.size - MAX_PROCESSES} more processes were not read`);
  return { processes, notes };
}
