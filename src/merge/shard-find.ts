import { type Dirent, existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { groupBy } from "../core/group-by.ts";
import { compareNames } from "../core/text.ts";
import { MANIFEST_FILE } from "../report/bundle/bundle.ts";
import type { ListedFile } from "../report/bundle/bundle-files.ts";
import { readBundle } from "../report/bundle/read-bundle.ts";
import type { GateReport } from "../report/model/gate-report.ts";
import { isRunDirectory } from "../telemetry/read-run-directory.ts";
import { RECORDING_FILE } from "../telemetry/recording/run-files.ts";
import { carriedLegs, type MissingLeg } from "./merge-report.ts";

/** The bundles and run directories at or below a directory. */
export interface FoundInputs {
  /** Bundles, as `run` leaves them. */
  readonly bundles: readonly string[];
  /** Run directories, as `record` leaves them, in a bundle that `merge` made of them too. */
  readonly shards: readonly FoundShard[];
  /** What the reports of those merged bundles list as missing or refused, by bundle. */
  readonly carried: ReadonlyMap<string, readonly MissingLeg[]>;
}

/** A run directory of one rank or node. */
export interface FoundShard {
  readonly directory: string;
  /** Its files by the manifest of the merged bundle that holds it; null outside a bundle. */
  readonly listed: readonly ListedFile[] | null;
}

/** Shards are in the directory of `record --output`, or one below it (`restart-1/rank-0003`). */
const DEPTH = 2;
/** `runs/<scenario>/<n>/<name>/` */
const OWNER = /^(?:[^/]+\/){4}/;

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

/** Whether a report was judged by a baseline or a budget, which only its verdict contains. */
function isJudged({ scenarios }: GateReport): boolean {
  return scenarios.some(
    ({ baseline, judgement }) => baseline !== null || (judgement?.checks ?? []).some(({ limit }) => limit === "budget"),
  );
}

/**
 * The recordings that a merged bundle consists of, so that merging by node and then by rack gives what merging all at
 * once gives, and what it reports beside them; null for a bundle with runs of its own, for one whose verdict has a
 * limit that a second merge would lose, and for an unreadable one.
 */
async function shardsWithin(
  bundle: string,
): Promise<{ readonly shards: readonly FoundShard[]; readonly carried: readonly MissingLeg[] } | null> {
  const directories: string[] = [];
  for (const scenario of await directoriesOf(path.join(bundle, "runs"))) {
    for (const run of await directoriesOf(scenario)) {
      const within = await directoriesOf(run);
      const isShard = (one: string): boolean => existsSync(path.join(one, RECORDING_FILE));
      if (isShard(run) || within.length === 0 || !within.every(isShard)) return null;
      directories.push(...within);
    }
  }
  if (directories.length === 0) return null;
  const read = await readBundle(bundle).catch(() => null);
  if (read === null || isJudged(read.report)) return null;
  const owners = new Map(directories.map((one) => [`${path.relative(bundle, one).split(path.sep).join("/")}/`, one]));
  const byShard = groupBy(read.manifest.files, ({ path: name }) => owners.get(OWNER.exec(name)?.[0] ?? "") ?? "");
  const shards = directories.map((directory) => {
    const prefix = path.relative(bundle, directory).length + 1;
    const listed = (byShard.get(directory) ?? []).map((file) => ({ ...file, path: file.path.slice(prefix) }));
    return { directory, listed };
  });
  return { shards, carried: carriedLegs(read.report) };
}

/**
 * Bundles and recordings at or below a directory, links not followed. An empty directory is returned as a bundle,
 * whose reader reports what is missing.
 */
export async function findInputs(directory: string): Promise<FoundInputs> {
  const bundles: string[] = [];
  const shards: FoundShard[] = [];
  const carried = new Map<string, readonly MissingLeg[]>();
  let level: readonly string[] = [directory];
  for (let depth = 0; depth <= DEPTH && level.length > 0; depth += 1) {
    const below: string[] = [];
    for (const one of level) {
      const kind = kindOf(one);
      if (kind === "bundle") {
        const within = await shardsWithin(one);
        if (within === null) bundles.push(one);
        else {
          shards.push(...within.shards);
          carried.set(one, within.carried);
        }
      } else if (kind === "shard") shards.push({ directory: one, listed: null });
      else if (depth < DEPTH) below.push(...(await directoriesOf(one)));
    }
    level = below;
  }
  return bundles.length + shards.length === 0
    ? { bundles: [directory], shards, carried }
    : { bundles, shards, carried };
}
