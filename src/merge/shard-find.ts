import { type Dirent, existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { compareNames } from "../core/text.ts";
import { MANIFEST_FILE } from "../report/bundle/bundle.ts";
import { isRunDirectory } from "../telemetry/read-run-directory.ts";
import { RECORDING_FILE } from "../telemetry/recording/run-files.ts";

/** The bundles and run directories at or below a directory. */
export interface FoundInputs {
  /** Bundles, as `run` and `merge` leave them. */
  readonly bundles: readonly string[];
  /** Run directories of one rank or node each, as `record` leaves them. */
  readonly shards: readonly string[];
}

/** Shards are in the directory of `record --output`, or one below it (`restart-1/rank-0003`). */
const DEPTH = 2;

function kindOf(directory: string): "bundle" | "shard" | null {
  if (existsSync(path.join(directory, MANIFEST_FILE))) return "bundle";
  return existsSync(path.join(directory, RECORDING_FILE)) || isRunDirectory(directory) ? "shard" : null;
}

async function directoriesOf(directory: string): Promise<readonly string[]> {
  let entries: readonly Dirent[];
  try {
    entries = await readdir(directory, { withFileTypes: true });
  } catch {
    // An unreadable directory is reported only if it was given by name.
    return [];
  }
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => path.join(directory, name))
    .sort(compareNames);
}

/**
 * Bundles and recordings at or below a directory, links not followed. An empty directory is returned as a bundle,
 * whose reader reports what is missing.
 */
export async function findInputs(directory: string): Promise<FoundInputs> {
  const bundles: string[] = [];
  const shards: string[] = [];
  let level: readonly string[] = [directory];
  for (let depth = 0; depth <= DEPTH && level.length > 0; depth += 1) {
    const below: string[] = [];
    for (const one of level) {
      const kind = kindOf(one);
      if (kind === "bundle") bundles.push(one);
      else if (kind === "shard") shards.push(one);
      else if (depth < DEPTH) below.push(...(await directoriesOf(one)));
    }
    level = below;
  }
  return bundles.length + shards.length === 0 ? { bundles: [directory], shards } : { bundles, shards };
}
