import { existsSync, mkdirSync, readdirSync, rmdirSync } from "node:fs";
import path from "node:path";
import { codeOf, GateError } from "../../core/errors.ts";
import { makeDirectories } from "../../core/files.ts";
import { unwritable } from "../../measure/session/run-directory.ts";
import { isNamedSession } from "../../measure/session/session.ts";
import { RECORDING_FILE } from "../../telemetry/recording/run-files.ts";
import { readRecordingInfo } from "../../telemetry/recording/run-info.ts";
import type { ShardOrigin } from "./shard-origin.ts";

/** A shard's directory, made for this process alone. */
interface ClaimedDirectory {
  readonly directory: string;
  /** Remove the directory if it is empty. */
  readonly release: () => void;
}

/** Maximum number of agents on one machine. */
const MAX_AGENTS = 1024;

/** The session of a shard in this directory, for a message. */
function sessionThere(directory: string): string | null {
  try {
    return readRecordingInfo(directory).session;
  } catch {
    return null;
  }
}

function taken(directory: string, session: string): GateError {
  const other = sessionThere(directory);
  const whose =
    other === null ? "" : other === session ? " of this job" : `, of the job ${other}; this is the job ${session}`;
  return new GateError("RUN_DIRECTORY_IN_USE", `this directory has a shard already${whose}`, {
    where: directory,
    hint: "Use another output directory for every job (--output results/$SLURM_JOB_ID), or remove the old shards.",
  });
}

/** True when this process made the directory, false when it existed. Several processes may make its parents at once. */
function make(directory: string): boolean {
  try {
    makeDirectories(path.dirname(directory));
    mkdirSync(directory);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST" && existsSync(directory)) return false;
    throw unwritable(directory, error);
  }
}

function claimed(directory: string): ClaimedDirectory {
  const release = () => {
    try {
      rmdirSync(directory);
    } catch {
      // The directory is not empty, which is the usual case.
    }
  };
  return { directory, release };
}

/** A shard of another named job on the same host: by their numbers alone, two jobs would look like one. */
function shardOfOtherJob(parent: string, prefix: string, session: string): string | null {
  if (!isNamedSession(session)) return null;
  const names = existsSync(parent) ? readdirSync(parent).filter((name) => name.startsWith(`${prefix}-`)) : [];
  return (
    names
      .map((name) => path.join(parent, name))
      .find((directory) => {
        const other = existsSync(path.join(directory, RECORDING_FILE)) ? sessionThere(directory) : null;
        return other !== null && other !== session;
      }) ?? null
  );
}

/**
 * The directory of this process's recording below `output`, made atomically: no two processes get the same one. The
 * only recording of a job gets `output`, which is not made here.
 * @throws GateError RUN_DIRECTORY_IN_USE, RUN_DIRECTORY_UNWRITABLE
 */
export function claimShardDirectory(output: string, origin: ShardOrigin, session: string): ClaimedDirectory {
  if (origin.kind === "alone") return { directory: output, release: () => {} };
  const base = path.join(output, origin.directory);
  if (origin.kind === "rank" || origin.number !== null) {
    const directory = origin.kind === "rank" ? base : `${base}-${origin.number}`;
    if (!make(directory)) throw taken(directory, session);
    return claimed(directory);
  }
  const other = shardOfOtherJob(path.dirname(base), path.basename(base), session);
  if (other !== null) throw taken(other, session);
  for (let number = 0; number < MAX_AGENTS; number += 1) {
    const directory = `${base}-${number}`;
    if (make(directory)) return claimed(directory);
  }
  throw taken(base, session);
}
