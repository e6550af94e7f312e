import { lstatSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import path from "node:path";
import { smallText } from "../oom/probe-files.ts";
import type { ProbeProcess, ProbeSummary } from "../recording/model.ts";
import { PROBE_FOLDER } from "../recording/run-files.ts";
import { type ProbeInfo, parseProbeInfo } from "./probe-info.ts";

const INFO_FILE = /^\d{1,10}\.\d{1,9}\.info$/;
/** Files that are obsolete once the samples are in Parquet: rings, the step file, partial info files. */
const CONSUMED = /^(\d{1,10}\.\d{1,9}\.(probe|info\.(part|new))|step)$/;
/** Maximum number of info files of one run; a fork storm leaves more. */
const MAX_READ = 4096;
const MAX_KEPT = 256;

function namesIn(directory: string): string[] {
  try {
    // Links are not followed, because the measured program could have created one.
    return lstatSync(directory).isDirectory() ? readdirSync(directory) : [];
  } catch {
    return [];
  }
}

/** Info of the probes, in the order of pids; empty without any. */
export function readProbeInfos(runDirectory: string): ProbeInfo[] {
  const directory = path.join(runDirectory, PROBE_FOLDER);
  return namesIn(directory)
    .filter((name) => INFO_FILE.test(name))
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }))
    .slice(0, MAX_READ)
    .flatMap((name) => {
      const text = smallText(path.join(directory, name));
      const info = text === null ? null : parseProbeInfo(text);
      return info === null ? [] : [info];
    });
}

/** Sorts informative processes first, for when not all can be kept. */
function weight({ rank, steps_from, framework, role }: ProbeProcess): number {
  return 8 * Number(steps_from !== null) + 4 * Number(rank !== null && role === "rank") + Number(framework !== null);
}

/** The part of `recording.json` that comes from the probes. */
export function probeSummary(processes: readonly ProbeProcess[]): ProbeSummary {
  const kept = [...processes].sort((a, b) => weight(b) - weight(a)).slice(0, MAX_KEPT);
  const order = new Map(processes.map((process, i) => [process, i]));
  return {
    processes: kept.sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0)),
    processes_total: processes.length,
  };
}

/** Removes what the probes of processes that are not measured left: it is evidence of something else. */
export function removeFilesOf(pids: ReadonlySet<number>, runDirectory: string): void {
  const directory = path.join(runDirectory, PROBE_FOLDER);
  const names = pids.size === 0 ? [] : namesIn(directory);
  for (const name of names.filter((one) => pids.has(Number.parseInt(one, 10))))
    quietly(() => rmSync(path.join(directory, name)));
}

/** Removes what the recording contains. Other evidence (out-of-memory, lines, snapshots) stays, with its info files. */
export function clearProbeFiles(runDirectory: string): void {
  const directory = path.join(runDirectory, PROBE_FOLDER);
  const names = namesIn(directory);
  const left = names.filter((name) => !CONSUMED.test(name));
  const onlyInfos = left.every((name) => INFO_FILE.test(name));
  for (const name of names) if (CONSUMED.test(name) || onlyInfos) quietly(() => rmSync(path.join(directory, name)));
  if (onlyInfos) quietly(() => rmdirSync(directory));
}

/** Left-overs are harmless: a directory under a ring's name, or a file that was created in between, stays. */
function quietly(remove: () => void): void {
  try {
    remove();
  } catch {
    // See above.
  }
}
