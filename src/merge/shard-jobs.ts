import { ExitCode } from "../core/exit-codes.ts";
import { groupBy } from "../core/group-by.ts";
import { isNamedSession } from "../measure/session/session.ts";
import { RAW_RECORD_FILE } from "../telemetry/recording/record-columns.ts";
import { SAMPLES_FILE } from "../telemetry/recording/run-directory.ts";
import { compareNames } from "./merge-legs.ts";
import type { MissingLeg } from "./merge-report.ts";
import type { Shard } from "./shard-read.ts";

/** A shard and what it is called: the shortest end of its path that no other one has. */
export interface NamedShard extends Shard {
  readonly name: string;
}

/** Shards of one scenario that are ranks of one job. */
export interface ShardJob {
  readonly scenario: string;
  readonly session: string;
  readonly commit: string | null;
  /** In the order of their ranks. */
  readonly shards: readonly NamedShard[];
}

export interface ShardJobs {
  readonly jobs: readonly ShardJob[];
  /** Shards that could not be counted, each with its reason. */
  readonly silent: readonly MissingLeg[];
  readonly warnings: readonly string[];
}

function refused(name: string, code: string, message: string, hint: string): MissingLeg {
  return { name, word: "error", code, message, hint, exitCode: ExitCode.invalidInput };
}

/** A copy says the same twice; counted twice it would stand for a rank that is missing. */
function withoutCopies(shards: readonly NamedShard[], warnings: string[]): readonly NamedShard[] {
  const seen = new Map<string, string>();
  return shards.filter(({ name, info, files }) => {
    const samples = files.find(({ path }) => path === SAMPLES_FILE || path === RAW_RECORD_FILE)?.sha256 ?? name;
    const key = JSON.stringify([info.session, info.identity, info.clock.epoch_ns, samples]);
    const first = seen.get(key);
    if (first === undefined) {
      seen.set(key, name);
      return true;
    }
    warnings.push(`${name} is a copy of ${first} and counts once`);
    return false;
  });
}

/** The commit of most of them; of equals the first by its digits. */
function mainCommit(shards: readonly NamedShard[]): string | null {
  const known = shards.flatMap(({ info }) => info.commit ?? []);
  const counted = [...groupBy(known, (commit) => commit)].sort(
    ([a, x], [b, y]) => y.length - x.length || (a < b ? -1 : 1),
  );
  return counted[0]?.[0] ?? null;
}

/** Shards of another commit answer another question. */
function ofOneCommit(
  shards: readonly NamedShard[],
  commit: string | null,
  silent: MissingLeg[],
): readonly NamedShard[] {
  return shards.filter(({ name, info }) => {
    if (commit === null || info.commit === null || info.commit === commit) return true;
    const message = `${name} is of the commit ${info.commit.slice(0, 12)}, the others of its job are of ${commit.slice(0, 12)}`;
    silent.push(
      refused(name, "COMMITS_DIFFER", message, "Merge recordings of one commit; leave out those of an earlier one."),
    );
    return false;
  });
}

/** No rank and device may be in two shards of one job: which of them is the job's cannot be known. */
function withoutClashes(shards: readonly NamedShard[], silent: MissingLeg[]): readonly NamedShard[] {
  const owners = new Map<string, string>();
  return shards.filter(({ name, features }) => {
    const places = [
      ...new Set(features.series.map(({ analysis }) => JSON.stringify([analysis.rank, analysis.device]))),
    ];
    const taken = places.find((place) => owners.has(place));
    if (taken === undefined) {
      for (const place of places) owners.set(place, name);
      return true;
    }
    const [rank, device] = JSON.parse(taken);
    const message = `rank ${rank} on ${device} is in two recordings of one job: ${owners.get(taken)} and ${name}; the first counts`;
    silent.push(refused(name, "RANK_CLASH", message, "Leave out the recording that is of another run of the job."));
    return false;
  });
}

const byRank = (shards: readonly NamedShard[]): readonly NamedShard[] =>
  [...shards].sort((a, b) => a.info.identity.rank - b.info.identity.rank || compareNames(a.name, b.name));

const NAME_IT = "set STORMLOG_GATE_SESSION to one value on all nodes to have it said by name";

/** One job of the shards that belong together by their session, or every shard for itself where none knows of others. */
function jobsOf(
  scenario: string,
  named: string | null,
  given: readonly NamedShard[],
  out: { silent: MissingLeg[]; warnings: string[] },
) {
  const alone = (shard: NamedShard): ShardJob => ({
    ...{ scenario, session: shard.info.session, commit: shard.info.commit },
    shards: [shard],
  });
  const distributed = given.some(({ info }) => info.identity.world_size > 1);
  if (!distributed) return given.map(alone);
  const commit = mainCommit(given);
  const shards = byRank(withoutClashes(ofOneCommit(given, commit, out.silent), out.silent));
  const [first] = shards;
  if (first === undefined) return [];
  if (named === null && shards.length > 1) {
    out.warnings.push(
      `${scenario}: no launcher named the job of these ${shards.length} recordings; they are taken for one (${NAME_IT})`,
    );
  }
  const worlds = [...new Set(shards.map(({ info }) => info.identity.world_size))].sort((a, b) => a - b);
  const told = worlds.filter((size) => size > 1);
  if (told.length > 1) {
    out.warnings.push(
      `${scenario}: its recordings speak of worlds of ${told[0]} to ${told.at(-1)} ranks; the largest counts`,
    );
  }
  return [{ scenario, session: first.info.session, commit, shards }];
}

/**
 * Which shards are ranks of one job: those of one scenario and one named session; those that nobody named are one job where they
 * speak of others. The order in which shards are given changes nothing.
 */
export function groupShards(given: readonly NamedShard[]): ShardJobs {
  const warnings: string[] = [];
  const silent: MissingLeg[] = [];
  const shards = withoutCopies(
    [...given].sort((a, b) => compareNames(a.name, b.name)),
    warnings,
  );
  const keyOf = ({ info }: NamedShard): string => {
    const { session, scenario, identity } = info;
    // One that stands alone and was not named is nobody's rank.
    const unnamed = identity.world_size > 1 ? "" : session;
    return JSON.stringify([scenario, isNamedSession(session) ? `named ${session}` : unnamed]);
  };
  const groups = [...groupBy(shards, keyOf)].sort(([a], [b]) => (a < b ? -1 : 1));
  const jobs = groups.flatMap(([, own]) => {
    const [first] = own;
    if (first === undefined) return [];
    const session = isNamedSession(first.info.session) ? first.info.session : null;
    return jobsOf(first.info.scenario, session, own, { silent, warnings });
  });
  for (const [scenario, own] of groupBy(jobs, (job) => job.scenario)) {
    const several = own.filter(({ shards: ranks }) => ranks.some(({ info }) => info.identity.world_size > 1));
    if (several.length < 2) continue;
    const names = several.map(({ session, shards: ranks }) => `${session} (${ranks.length})`).slice(0, 4);
    warnings.push(`${scenario}: recordings of ${several.length} jobs, each judged by itself: ${names.join(", ")}`);
  }
  return { jobs, silent, warnings };
}
