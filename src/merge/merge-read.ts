import { randomInt } from "node:crypto";
import { realpath } from "node:fs/promises";
import path from "node:path";
import { scenarioDirectory } from "../baseline/identity.ts";
import { GateError } from "../core/errors.ts";
import { compareNames } from "../core/text.ts";
import type { ListedFile } from "../report/bundle/bundle-files.ts";
import { alteredFiles, corruptBundle, readBundle } from "../report/bundle/read-bundle.ts";
import type { GateReport } from "../report/model/gate-report.ts";
import { legNames, withoutCopies } from "./merge-legs.ts";
import { SHARD_RUN } from "./merge-nodes.ts";
import type { MissingLeg } from "./merge-report.ts";
import { type FoundInputs, findInputs } from "./shard-find.ts";
import { groupShards, type NamedShard, type ShardJob } from "./shard-jobs.ts";
import { failureOf, readShard, type ShardFailure } from "./shard-read.ts";
import { reportOfShards, type ShardPolicy } from "./shard-report.ts";

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

/** What was read. */
interface Inputs {
  /** Bundles and unusable inputs. */
  readonly legs: readonly MergeLeg[];
  readonly shards: readonly NamedShard[];
  readonly warnings: readonly string[];
  readonly nameOf: (directory: string) => string;
}

export interface MergeInput {
  /** Sorted by name. */
  readonly legs: readonly MergeLeg[];
  /** Recordings that do not fit their job. */
  readonly refused: readonly MissingLeg[];
  /** Names of all bundles and recordings, usable or not. */
  readonly present: readonly string[];
  readonly warnings: readonly string[];
}

/** Which of the stored features are compared with their samples. */
export type SampleVerification = "some" | "all";

/** One in this many shards, drawn for each, is compared. */
const ONE_IN = 64;

/** What a report of recordings is made with. */
export interface ReadContext {
  readonly policy: ShardPolicy;
  readonly verification: SampleVerification;
  readonly argv: readonly string[];
  readonly now: Date;
}

/** The run directories of a gate. Any other path in a report is foreign and could lead out of the bundle. */
const RUN_DIRECTORY = /^runs\/[a-z0-9][a-z0-9._-]{0,199}\/(?:base-|attribution-)?\d{1,4}$/;

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
    return unusable(name, directory, errorOf(failureOf(directory, error, "bundle")));
  }
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

function errorOf({ code, kind, message, hint, directory }: ShardFailure): GateError {
  return new GateError(code, message, { kind, where: directory, hint: hint ?? undefined });
}

function unusable(name: string, directory: string, error: GateError): MergeLeg {
  return { kind: "unusable", name, directory, error };
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
 */
export async function readInputs(given: readonly string[], context: ReadContext): Promise<Inputs> {
  const warnings: string[] = [];
  const found = await findAll(given, warnings);
  const directories = [...found.bundles, ...found.shards];
  const names = new Map(legNames(directories).map((name, index) => [directories[index] ?? name, name]));
  const nameOf = (directory: string): string => names.get(directory) ?? directory;
  const sorted = (all: readonly string[]) => [...all].sort((a, b) => compareNames(nameOf(a), nameOf(b)));
  const legs: MergeLeg[] = [];
  for (const directory of sorted(found.bundles)) legs.push(await readLeg(nameOf(directory), directory));
  const shards: NamedShard[] = [];
  const failures: ShardFailure[] = [];
  const { policy, verification } = context;
  // One after the other: of recordings only one is in memory then.
  for (const directory of sorted(found.shards)) {
    const verify = verification === "all" || randomInt(ONE_IN) === 0;
    const answer = await readShard(directory, { horizon: policy.horizon, verify });
    if (answer.kind === "unusable") failures.push(answer.failure);
    else shards.push({ ...answer.shard, name: nameOf(directory) });
  }
  return withoutShards({ legs, shards, warnings, nameOf }, failures);
}

/** Inputs with unusable recordings as legs instead of shards. */
export function withoutShards(inputs: Inputs, failures: readonly ShardFailure[]): Inputs {
  const gone = new Set(failures.map(({ directory }) => directory));
  const unread = failures.map((one) => unusable(inputs.nameOf(one.directory), one.directory, errorOf(one)));
  const shards = inputs.shards.filter(({ directory }) => !gone.has(directory));
  return { ...inputs, legs: [...inputs.legs, ...unread], shards };
}

/** The legs of a merge: bundles, unusable inputs and the recordings of each job. */
export function legsOf({ legs: given, shards, warnings: found }: Inputs, context: ReadContext): MergeInput {
  const warnings = [...found];
  const grouped = groupShards(shards);
  const legs = [...given, ...grouped.jobs.map((job) => legOfJob(job, context))];
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
