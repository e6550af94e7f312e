import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import path from "node:path";
import { GateError } from "../core/errors.ts";
import { groupBy } from "../core/group-by.ts";
import { readSnapshotFile } from "../inputs/snapshot-input.ts";
import type { ProcessEvidence } from "../snapshot/attribution.ts";
import { snapshotName } from "../snapshot/file-names.ts";
import type { Frame } from "../snapshot/frames.ts";
import { type LinesSample, parseLines } from "../snapshot/lines-document.ts";
import { growthOverSnapshots } from "../snapshot/snapshot-growth.ts";
import { PROBE_FOLDER } from "../telemetry/recording/probe-files.ts";

/** Directory of a run directory that keeps what an attribution run wrote down. */
export const SNAPSHOTS_FOLDER = "snapshots";

const LINES_FILE = /^(\d{1,10}\.\d{1,9})\.lines\.\d{1,6}(?:\.[a-z0-9-]{1,40})?\.json$/;
const SNAPSHOT_FILE = /^(\d{1,10}\.\d{1,9})\.snapshot\.\d{1,6}\.pickle$/;
/** The measured program writes these: a file larger than this is none of the probe's. */
const MAX_LINES_BYTES = 64 * 1024 * 1024;
/** Processes looked at; a fork storm leaves more. */
const MAX_PROCESSES = 256;

export interface AttributionEvidence {
  readonly processes: readonly ProcessEvidence[];
  /** What could not be read, in words. */
  readonly notes: readonly string[];
}

/** Regular files of the probe's directory, moved to where the bundle keeps them; names in numerical order. */
function keepFiles(directory: string): readonly string[] {
  const from = path.join(directory, PROBE_FOLDER);
  const to = path.join(directory, SNAPSHOTS_FOLDER);
  let names: string[];
  try {
    names = readdirSync(from).filter((name) => LINES_FILE.test(name) || SNAPSHOT_FILE.test(name));
  } catch {
    return [];
  }
  // Never through a link: the measured program could have put one there.
  const regular = names.filter((name) => lstatSync(path.join(from, name), { throwIfNoEntry: false })?.isFile());
  if (regular.length > 0) mkdirSync(to, { recursive: true });
  for (const name of regular) renameSync(path.join(from, name), path.join(to, name));
  return regular.sort((a, b) => a.localeCompare(b, "en", { numeric: true })).map((name) => path.join(to, name));
}

function readLines(file: string): LinesSample {
  const { size } = lstatSync(file);
  if (size > MAX_LINES_BYTES)
    throw new GateError("LINES_INVALID", `${size} bytes are no list of lines`, { kind: "error" });
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, "utf8"));
  } catch (cause) {
    throw new GateError("LINES_INVALID", "the list of lines is cut or damaged", { kind: "error", cause });
  }
  return parseLines(json, file);
}

/**
 * Read what the processes of an attribution run wrote into its probe directory, and move it to the run's `snapshots/`. What cannot
 * be read is a note: the rest still names lines.
 * @throws Error when the files cannot be moved (no space, no permission)
 */
export function attributionEvidence(directory: string, isUserFrame: (frame: Frame) => boolean): AttributionEvidence {
  const notes: string[] = [];
  const attempt = <T>(file: string, read: () => T): T | null => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof GateError)) throw error;
      notes.push(`${path.basename(file)}: ${error.message}`);
      return null;
    }
  };
  const files = keepFiles(directory);
  const byProcess = groupBy(files, (file) => path.basename(file).split(".").slice(0, 2).join("."));
  const processes = [...byProcess].slice(0, MAX_PROCESSES).map(([process, own]): ProcessEvidence => {
    const moments = own.flatMap((file) => {
      if (!LINES_FILE.test(path.basename(file))) return [];
      const moment = attempt(file, () => readLines(file));
      return moment === null ? [] : [moment];
    });
    // A snapshot does not tell its step; the lines of the same moment do.
    const steps = new Map(moments.map(({ moment, sample }) => [moment, sample.step]));
    const snapshots = own.flatMap((file) => {
      if (!SNAPSHOT_FILE.test(path.basename(file))) return [];
      const snapshot = attempt(file, () => readSnapshotFile(file));
      const { moment } = snapshotName(file);
      return snapshot === null ? [] : [{ snapshot, step: moment === null ? null : (steps.get(moment) ?? null) }];
    });
    const devices = growthOverSnapshots(snapshots, isUserFrame);
    return {
      process,
      moments,
      devices: devices.map(({ device, growth }) => ({ device: `cuda:${device}`, growth })),
    };
  });
  if (byProcess.size > MAX_PROCESSES)
    notes.push(`lines of ${byProcess.size - MAX_PROCESSES} more processes were not read`);
  return { processes, notes };
}
