import { realpath } from "node:fs/promises";
import path from "node:path";
import { scenarioDirectory } from "../baseline/scenario-name.ts";
import { GateError } from "../core/errors.ts";
import { readBundle } from "../report/bundle/bundle.ts";
import { corruptBundle, type ListedFile, listFiles, UNLIMITED } from "../report/bundle/bundle-files.ts";
import type { GateReport } from "../report/documents/model.ts";
import { compareNames, legNames, withoutCopies } from "./merge-legs.ts";
import type { MissingLeg } from "./merge-report.ts";
import { type FoundInputs, type FoundShard, findInputs } from "./shard-find.ts";
import { groupShards, type NamedShard, type ShardJob } from "./shard-jobs.ts";
import { readShards, type Verification } from "./shard-pool.ts";
import { failureOf, SHARD_INVALID, type Shard, type ShardFailure } from "./shard-read.ts";
import { reportOfShards, type ShardPolicy } from "./shard-report.ts";
import { SHARD_RUN } from "./shard-run.ts";

/** Files of one directory, and their location within the leg. */
export interface Evidence {
  /** Absolute, links resolved. */
  readonly directory: string;
  /** Path of the directory within the leg; empty = the leg itself. */
  readonly under: string;
  /** With verified digests. */
  readonly files: readonly ListedFile[];
}

/** One input bundle, or the recordings of one job. */
export type MergeLeg =
  | {
      readonly kind: "read";
      readonly name: string;
      readonly report: GateReport;
      readonly evidence: readonly Evidence[];
      /** What the bundle lacks by its manifest. */
      readonly notes: readonly string[];
      /** The recordings; null for a bundle. */
      readonly job: ShardJob | null;
    }
  | { readonly kind: "unusable"; readonly name: string; readonly directory: string; readonly error: GateError };

interface MergeInput {
  /** Sorted by name. */
  readonly legs: readonly MergeLeg[];
  /** Recordings that do not fit their job. */
  readonly refused: readonly MissingLeg[];
  /** Names of all bundles and recordings, usable or not. */
  readonly present: readonly string[];
  readonly warnings: readonly string[];
}

/** What a report of recordings is made with. */
interface ReadContext {
  readonly policy: ShardPolicy;
  readonly verification: Verification;
  readonly argv: readonly string[];
  readonly now: Date;
}

/** The run directories of a gate. Any other path in a report is foreign and could lead out of the bundle. */
const RUN_DIRECTORY = /^runs\/[a-z0-9][a-z0-9._-]{0,199}\/(?:base-|attribution-)?\d{1,4}$/;

/** Listed files that a directory lacks or has with other contents, as an interrupted transfer leaves it. */
async function alteredFiles(directory: string, listed: readonly ListedFile[]): Promise<readonly string[]> {
  const found = new Map((await listFiles(directory, { limits: UNLIMITED })).files.map((file) => [file.path, file]));
  return listed.filter(({ path: name, sha256 }) => found.get(name)?.sha256 !== sha256).map((file) => file.path);
}

/** Refuse a bundle with missing or altered files (`BUNDLE_CORRUPT`, exit 5). */
async function checkFiles(
  directory: string,
  listed: readonly ListedFile[],
  report: GateReport,
): Promise<readonly ListedFile[]> {
  const wrong = [...(await alteredFiles(directory, listed))];
  for (const { runs } of report.scenarios) {
    for (const run of runs) if (!RUN_DIRECTORY.test(run.directory)) wrong.push(run.directory);
  }
  if (!listed.some((file) => file.path === "report.json")) wrong.push("report.json");
  if (wrong.length === 0) return listed;
  throw corruptBundle(directory, wrong);
}

async function readLeg(name: string, directory: string): Promise<MergeLeg> {
  try {
    const { manifest, report } = await readBundle(directory);
    const files = await checkFiles(directory, manifest.files, report);
    const notes = manifest.complete ? [] : manifest.missing.map(({ path: file, reason }) => `${file}: ${reason}`);
    return { kind: "read", name, report, evidence: [{ directory, under: "", files }], notes, job: null };
  } catch (error) {
    return unusable(name, failureOf(directory, error, "bundle"));
  }
}

/** Refuse a shard of a merged bundle whose files are not those of the bundle's manifest (`BUNDLE_CORRUPT`, exit 5). */
function checkListed({ directory, files }: Shard, listed: readonly ListedFile[] | null): void {
  if (listed === null) return;
  const known = new Map(listed.map((file) => [file.path, file.sha256]));
  const wrong = files.filter(({ path: name, sha256 }) => known.get(name) !== sha256).map((file) => file.path);
  if (wrong.length > 0 || known.size !== files.length) throw corruptBundle(directory, wrong);
}

/** The error for a shard with features that are not of its samples: an altered file of a merged bundle explains it. */
async function contradictionOf(failure: ShardFailure, listed: readonly ListedFile[] | null): Promise<GateError> {
  const wrong = listed === null ? [] : await alteredFiles(failure.directory, listed);
  return wrong.length > 0 ? corruptBundle(failure.directory, wrong) : errorOf(failure);
}

/** The real path of a directory, or its absolute one if it does not exist, which reading reports. */
export async function resolved(directory: string): Promise<string> {
  return realpath(directory).catch(() => path.resolve(directory));
}

/** The digest of a bundle's report, which only copies share; null for recordings and unusable legs. */
function reportDigest(leg: MergeLeg): string | null {
  if (leg.kind === "unusable" || leg.job !== null) return null;
  return leg.evidence[0]?.files.find((file) => file.path === "report.json")?.sha256 ?? leg.name;
}

/** Every bundle and recording at or below the given directories, each once. */
async function findAll(given: readonly string[], warnings: string[]): Promise<FoundInputs> {
  const bundles = new Set<string>();
  const shards = new Map<string, FoundShard>();
  const seen = new Set<string>();
  for (const directory of await Promise.all(given.map(resolved))) {
    if (seen.has(directory)) warnings.push(`${directory} was given more than once and counts once`);
    else {
      seen.add(directory);
      const found = await findInputs(directory);
      for (const one of found.bundles) bundles.add(one);
      for (const one of found.shards) shards.set(one.directory, one);
    }
  }
  return { bundles: [...bundles], shards: [...shards.values()] };
}

function errorOf({ code, kind, message, hint, directory }: ShardFailure): GateError {
  return new GateError(code, message, { kind, where: directory, ...(hint === null ? {} : { hint }) });
}

function unusable(name: string, failure: ShardFailure): MergeLeg {
  return { kind: "unusable", name, directory: failure.directory, error: errorOf(failure) };
}

function legOfJob(job: ShardJob, { policy, argv, now }: ReadContext): MergeLeg {
  const [first] = job.shards;
  const others = job.shards.length - 1;
  const name = `${first?.name ?? "recording"}${others === 0 ? "" : `+${others}`}`;
  const report = reportOfShards(job, policy, argv, now);
  const evidence = job.shards.map(({ name: own, directory, files }) => ({
    directory,
    under: `${SHARD_RUN}/${scenarioDirectory(own)}`,
    files,
  }));
  return { kind: "read", name, report, evidence, notes: [], job };
}

/**
 * Read bundles and recordings at or below directories, given in any order. An unusable input (unfinished, damaged,
 * foreign, of a newer release) is an answer and not an exception, so that the others still count.
 * @throws GateError SHARD_INVALID for features that are not those of their samples, BUNDLE_CORRUPT for files of a
 *   merged bundle that are not those of its manifest
 */
export async function readLegs(given: readonly string[], context: ReadContext): Promise<MergeInput> {
  const warnings: string[] = [];
  const found = await findAll(given, warnings);
  const listed = new Map(found.shards.map((one) => [one.directory, one.listed]));
  const directories = [...found.bundles, ...listed.keys()];
  const names = new Map(legNames(directories).map((name, index) => [directories[index] ?? name, name]));
  const nameOf = (directory: string): string => names.get(directory) ?? directory;
  const sorted = (all: readonly string[]) => [...all].sort((a, b) => compareNames(nameOf(a), nameOf(b)));
  const legs: MergeLeg[] = [];
  for (const directory of sorted(found.bundles)) legs.push(await readLeg(nameOf(directory), directory));
  const shards: NamedShard[] = [];
  const contradicted: ShardFailure[] = [];
  const { policy, verification } = context;
  await readShards(sorted([...listed.keys()]), { horizon: policy.horizon, verification }, (answer) => {
    if (answer.kind === "unusable" && answer.failure.code === SHARD_INVALID) contradicted.push(answer.failure);
    else if (answer.kind === "unusable") legs.push(unusable(nameOf(answer.failure.directory), answer.failure));
    else {
      checkListed(answer.shard, listed.get(answer.shard.directory) ?? null);
      shards.push({ ...answer.shard, name: nameOf(answer.shard.directory) });
    }
  });
  const [first] = contradicted.sort((a, b) => compareNames(nameOf(a.directory), nameOf(b.directory)));
  if (first !== undefined) throw await contradictionOf(first, listed.get(first.directory) ?? null);
  const grouped = groupShards(shards);
  legs.push(...grouped.jobs.map((job) => legOfJob(job, context)));
  legs.sort((a, b) => compareNames(a.name, b.name));
  return {
    legs: withoutCopies(legs, reportDigest, warnings),
    refused: grouped.refused,
    present: present(legs, shards),
    warnings: [...new Set([...warnings, ...grouped.warnings])].sort(compareNames),
  };
}

/** Names of the inputs without copies, which cannot replace a missing leg. */
function present(legs: readonly MergeLeg[], shards: readonly NamedShard[]): readonly string[] {
  const counted = withoutCopies(legs, reportDigest, []).flatMap((leg) => {
    if (leg.kind === "unusable" || leg.job === null) return [leg.name];
    return leg.job.shards.map(({ name }) => name);
  });
  return shards.length === 0 ? counted : [...new Set(counted)];
}
