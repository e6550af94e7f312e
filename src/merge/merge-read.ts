import { realpath } from "node:fs/promises";
import path from "node:path";
import { scenarioDirectory } from "../baseline/scenario-name.ts";
import { GateError, invalidInput } from "../core/errors.ts";
import { readBundle } from "../report/bundle/bundle.ts";
import { type ListedFile, listFiles } from "../report/bundle/bundle-files.ts";
import type { GateReport } from "../report/documents/model.ts";
import { compareNames, legNames } from "./merge-legs.ts";
import type { MissingLeg } from "./merge-report.ts";
import { type FoundInputs, findInputs } from "./shard-find.ts";
import { groupShards, type NamedShard, type ShardJob } from "./shard-jobs.ts";
import { readShards } from "./shard-pool.ts";
import type { ShardFailure } from "./shard-read.ts";
import { reportOfShards, type ShardPolicy } from "./shard-report.ts";
import { SHARD_RUN } from "./shard-run.ts";

/** Files of one directory, and where they stand within the leg. */
export interface Evidence {
  /** Absolute, links resolved. */
  readonly directory: string;
  /** Directory of the leg that the directory is; empty = the leg itself. */
  readonly under: string;
  /** As the manifest lists them, or as they were read; and as they are. */
  readonly files: readonly ListedFile[];
}

/** One bundle that was given to be merged, or the recordings of one job. */
export type MergeLeg =
  | {
      readonly kind: "read";
      readonly name: string;
      readonly report: GateReport;
      readonly evidence: readonly Evidence[];
      /** What the bundle itself says it lacks. */
      readonly notes: readonly string[];
      /** The recordings, where it is no bundle. */
      readonly job: ShardJob | null;
    }
  | { readonly kind: "unusable"; readonly name: string; readonly directory: string; readonly error: GateError };

export interface MergeInput {
  /** In the order of their names. */
  readonly legs: readonly MergeLeg[];
  /** Recordings that could not be counted. */
  readonly refused: readonly MissingLeg[];
  /** Names of all bundles and recordings that came, usable or not. */
  readonly present: readonly string[];
  readonly warnings: readonly string[];
}

/** How recordings become a report. */
export interface ReadContext {
  readonly policy: ShardPolicy;
  readonly argv: readonly string[];
  readonly now: Date;
}

/** Where a gate puts its runs; anything else in a report is none of ours, and could lead out of the bundle. */
const RUN_DIRECTORY = /^runs\/[a-z0-9][a-z0-9._-]{0,199}\/(?:base-|attribution-)?\d{1,4}$/;

/** Files named in a message. */
const MAX_NAMED = 3;

/**
 * Every file that the manifest lists has to be there with its bytes: a bundle that was cut on its way says nothing for sure.
 * One file at a time is read, in pieces.
 * @throws GateError BUNDLE_CORRUPT (exit 5)
 */
async function checkFiles(
  directory: string,
  listed: readonly ListedFile[],
  report: GateReport,
): Promise<readonly ListedFile[]> {
  const found = new Map((await listFiles(directory, new Set())).map((file) => [file.path, file]));
  const wrong = listed.filter(({ path: name, sha256 }) => found.get(name)?.sha256 !== sha256).map((file) => file.path);
  for (const { runs } of report.scenarios) {
    for (const run of runs) if (!RUN_DIRECTORY.test(run.directory)) wrong.push(run.directory);
  }
  if (!listed.some((file) => file.path === "report.json")) wrong.push("report.json");
  if (wrong.length === 0) return listed;
  const more = wrong.length > MAX_NAMED ? ` and ${wrong.length - MAX_NAMED} more` : "";
  throw invalidInput(
    "BUNDLE_CORRUPT",
    `files are not as the manifest lists them: ${wrong.slice(0, MAX_NAMED).join(", ")}${more}`,
    directory,
    "Fetch the bundle again, or measure this leg again.",
  );
}

async function readLeg(name: string, directory: string): Promise<MergeLeg> {
  try {
    const { manifest, report } = await readBundle(directory);
    const files = await checkFiles(directory, manifest.files, report);
    const notes = manifest.complete ? [] : manifest.missing.map(({ path: file, reason }) => `${file}: ${reason}`);
    return { kind: "read", name, report, evidence: [{ directory, under: "", files }], notes, job: null };
  } catch (error) {
    if (error instanceof GateError) return { kind: "unusable", name, directory, error };
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    const failure = new GateError("INPUT_UNREADABLE", `the bundle cannot be read (${code})`, {
      kind: "invalid-input",
      where: directory,
      cause: error,
    });
    return { kind: "unusable", name, directory, error: failure };
  }
}

async function resolved(directory: string): Promise<string> {
  // What does not exist is told when it is read.
  return realpath(directory).catch(() => path.resolve(directory));
}

/** Legs with the same report are one leg twice: counted once, or a copy would stand for a leg that is missing. */
function withoutCopies(legs: readonly MergeLeg[], warnings: string[]): readonly MergeLeg[] {
  const seen = new Map<string, string>();
  return legs.filter((leg) => {
    if (leg.kind === "unusable") return true;
    if (leg.job !== null) return true;
    const digest = leg.evidence[0]?.files.find((file) => file.path === "report.json")?.sha256 ?? leg.name;
    const first = seen.get(digest);
    if (first === undefined) {
      seen.set(digest, leg.name);
      return true;
    }
    warnings.push(`${leg.name} is a copy of ${first} and counts once`);
    return false;
  });
}

/** Every bundle and recording that was given, or lies in a directory that was; each once. */
async function findAll(given: readonly string[], warnings: string[]): Promise<FoundInputs> {
  const bundles = new Set<string>();
  const shards = new Set<string>();
  const seen = new Set<string>();
  for (const directory of await Promise.all(given.map(resolved))) {
    if (seen.has(directory)) warnings.push(`${directory} was given more than once and counts once`);
    else {
      seen.add(directory);
      const found = await findInputs(directory);
      for (const one of found.bundles) bundles.add(one);
      for (const one of found.shards) shards.add(one);
    }
  }
  return { bundles: [...bundles], shards: [...shards] };
}

function unusable(name: string, failure: ShardFailure): MergeLeg {
  const { code, kind, message, hint, directory } = failure;
  const error = new GateError(code, message, { kind, where: directory, ...(hint === null ? {} : { hint }) });
  return { kind: "unusable", name, directory, error };
}

/** A directory of the leg for each recording, called after it. */
function evidenceOf({ shards }: ShardJob): readonly Evidence[] {
  return shards.map(({ name, directory, files }) => ({
    directory,
    under: `${SHARD_RUN}/${scenarioDirectory(name)}`,
    files,
  }));
}

function legOfJob(job: ShardJob, { policy, argv, now }: ReadContext): MergeLeg {
  const [first] = job.shards;
  const others = job.shards.length - 1;
  const name = `${first?.name ?? "recording"}${others === 0 ? "" : `+${others}`}`;
  const report = reportOfShards(job, policy, argv, now);
  return { kind: "read", name, report, evidence: evidenceOf(job), notes: [], job };
}

/**
 * Read bundles and recordings one after the other; a directory of them stands for what lies in it. Neither the order they were given
 * in nor the one they were read in changes anything. One that cannot be used (unfinished, damaged, of a newer release, none of ours)
 * is an answer, not an exception: the others still count.
 */
export async function readLegs(given: readonly string[], context: ReadContext): Promise<MergeInput> {
  const warnings: string[] = [];
  const found = await findAll(given, warnings);
  const directories = [...found.bundles, ...found.shards];
  const names = new Map(legNames(directories).map((name, index) => [directories[index] ?? name, name]));
  const nameOf = (directory: string): string => names.get(directory) ?? directory;
  const sorted = (all: readonly string[]) => [...all].sort((a, b) => compareNames(nameOf(a), nameOf(b)));
  const legs: MergeLeg[] = [];
  for (const directory of sorted(found.bundles)) legs.push(await readLeg(nameOf(directory), directory));
  const shards: NamedShard[] = [];
  await readShards(sorted(found.shards), { horizon: context.policy.horizon }, (answer) => {
    if (answer.kind === "unusable") legs.push(unusable(nameOf(answer.failure.directory), answer.failure));
    else shards.push({ ...answer.shard, name: nameOf(answer.shard.directory) });
  });
  const grouped = groupShards(shards);
  legs.push(...grouped.jobs.map((job) => legOfJob(job, context)));
  legs.sort((a, b) => compareNames(a.name, b.name));
  return {
    legs: withoutCopies(legs, warnings),
    refused: grouped.silent,
    present: present(legs, shards),
    warnings: [...new Set([...warnings, ...grouped.warnings])].sort(compareNames),
  };
}

/** Copies do not stand for what is missing: bundles by what they say, recordings as they were told apart. */
function present(legs: readonly MergeLeg[], shards: readonly NamedShard[]): readonly string[] {
  const counted = withoutCopies(legs, []).flatMap((leg) => {
    if (leg.kind === "unusable" || leg.job === null) return [leg.name];
    return leg.job.shards.map(({ name }) => name);
  });
  return shards.length === 0 ? counted : [...new Set(counted)];
}
