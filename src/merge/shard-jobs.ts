import { groupBy } from "../core/group-by.ts";
import { compareNames } from "../core/text.ts";
import { isNamedSession } from "../measure/session/session.ts";
import { RAW_RECORD_FILE, SAMPLES_FILE } from "../telemetry/recording/run-files.ts";
import { withoutCopies } from "./merge-legs.ts";
import { type MissingLeg, refusedLeg } from "./merge-report.ts";
import type { Shard } from "./shard-read.ts";

/** A shard with its name: the shortest unique end of its path. */
export interface NamedShard extends Shard {
  readonly name: string;
}

/** Shards of one scenario that are ranks of one job. */
export interface ShardJob {
  readonly scenario: string;
  readonly session: string;
  readonly commit: string | null;
  /** Sorted by rank. */
  readonly shards: readonly NamedShard[];
}

interface ShardJobs {
  readonly jobs: readonly ShardJob[];
  /** Shards that do not fit their job, each with its reason. */
  readonly refused: readonly MissingLeg[];
  readonly warnings: readonly string[];
}

/** A key that only copies of a recording share. */
function recordingKey({ name, info, files }: NamedShard): string {
  const samples = files.find(({ path }) => path === SAMPLES_FILE || path === RAW_RECORD_FILE)?.sha256 ?? name;
  return JSON.stringify([info.session, info.identity, info.clock.epoch_ns, samples]);
}

/** The most frequent commit; of equally frequent ones the first in order. */
function mainCommit(shards: readonly NamedShard[]): string | null {
  const known = shards.flatMap(({ info }) => info.commit ?? []);
  const counted = [...groupBy(known, (commit) => commit)].sort(
    ([a, x], [b, y]) => y.length - x.length || (a < b ? -1 : 1),
  );
  return counted[0]?.[0] ?? null;
}

/** The shards of a commit; the others are refused. */
function ofOneCommit(
  shards: readonly NamedShard[],
  commit: string | null,
  refused: MissingLeg[],
): readonly NamedShard[] {
  return shards.filter(({ name, info }) => {
    if (commit === null || info.commit === null || info.commit === commit) return true;
    const message = `${name} is from commit ${info.commit.slice(0, 12)}, the other recordings of its job from ${commit.slice(0, 12)}`;
    refused.push(refusedLeg(name, "COMMITS_DIFFER", message, "Merge only recordings of one commit."));
    return false;
  });
}

/** The shards without those that repeat a rank, or a rank and device: only one of them can belong to their job. */
function withoutClashes(shards: readonly NamedShard[], refused: MissingLeg[]): readonly NamedShard[] {
  const owners = new Map<string, string>();
  return shards.filter(({ name, info, features }) => {
    const series = features.series.map(({ analysis }) => JSON.stringify([analysis.rank, analysis.device]));
    const keys = [...new Set([...series, JSON.stringify([info.identity.rank])])];
    const taken = keys.find((key) => owners.has(key));
    if (taken === undefined) {
      for (const key of keys) owners.set(key, name);
      return true;
    }
    const [rank, device] = JSON.parse(taken);
    const where = device === undefined ? "" : ` on ${device}`;
    const message = `rank ${rank}${where} is in two recordings of one job: ${owners.get(taken)} and ${name}; the first was used`;
    refused.push(refusedLeg(name, "RANK_CLASH", message, "Omit the recording that is from another run of the job."));
    return false;
  });
}

const byRank = (shards: readonly NamedShard[]): readonly NamedShard[] =>
  [...shards].sort((a, b) => a.info.identity.rank - b.info.identity.rank || compareNames(a.name, b.name));

/** One job of the shards of one session, or a job per shard where none has other ranks. */
function jobsOf(
  scenario: string,
  named: string | null,
  given: readonly NamedShard[],
  out: { refused: MissingLeg[]; warnings: string[] },
) {
  const alone = (shard: NamedShard): ShardJob => ({
    scenario,
    session: shard.info.session,
    commit: shard.info.commit,
    shards: [shard],
  });
  const distributed = given.some(({ info }) => info.identity.world_size > 1);
  if (!distributed) return given.map(alone);
  const commit = mainCommit(given);
  const shards = byRank(withoutClashes(ofOneCommit(given, commit, out.refused), out.refused));
  const [first] = shards;
  if (first === undefined) return [];
  if (named === null && shards.length > 1) {
    out.warnings.push(
      `${scenario}: no launcher named the job of these ${shards.length} recordings, which were merged as one job. Set STORMLOG_GATE_SESSION to the same value on all nodes to name it.`,
    );
  }
  const worlds = [...new Set(shards.map(({ info }) => info.identity.world_size))].sort((a, b) => a - b);
  const several = worlds.filter((size) => size > 1);
  if (several.length > 1) {
    out.warnings.push(
      `${scenario}: its recordings report world sizes from ${several[0]} to ${several.at(-1)}; the largest was used`,
    );
  }
  return [{ scenario, session: first.info.session, commit, shards }];
}

/**
 * Group shards into jobs, in any order: one job per scenario and named session. Shards without a named session are one
 * job if their world size is above 1.
 */
export function groupShards(given: readonly NamedShard[]): ShardJobs {
  const warnings: string[] = [];
  const refused: MissingLeg[] = [];
  const sorted = [...given].sort((a, b) => compareNames(a.name, b.name));
  const shards = withoutCopies(sorted, recordingKey, warnings);
  const keyOf = ({ info }: NamedShard): string => {
    const { session, scenario, identity } = info;
    // A single process without a named session is a job alone.
    const unnamed = identity.world_size > 1 ? "" : session;
    return JSON.stringify([scenario, isNamedSession(session) ? `named ${session}` : unnamed]);
  };
  const groups = [...groupBy(shards, keyOf)].sort(([a], [b]) => (a < b ? -1 : 1));
  const jobs = groups.flatMap(([, own]) => {
    const [first] = own;
    if (first === undefined) return [];
    const session = isNamedSession(first.info.session) ? first.info.session : null;
    return jobsOf(first.info.scenario, session, own, { refused, warnings });
  });
  for (const [scenario, own] of groupBy(jobs, (job) => job.scenario)) {
    const several = own.filter(({ shards: ranks }) => ranks.some(({ info }) => info.identity.world_size > 1));
    if (several.length < 2) continue;
    const names = several.map(({ session, shards: ranks }) => `${session} (${ranks.length})`).slice(0, 4);
    warnings.push(`${scenario}: recordings of ${several.length} jobs, each judged separately: ${names.join(", ")}`);
  }
  return { jobs, refused, warnings };
}
