import path from "node:path";
import { fingerprintHash } from "../baseline/identity.ts";
import { type BaselineStore, isStoredName, MAX_HISTORY, parseStored, type StoredRecord } from "../baseline/store.ts";
import { GateError, invalidInput } from "../core/errors.ts";
import { groupBy } from "../core/group-by.ts";
import { plural } from "../core/text.ts";
import { git } from "../git/git.ts";
import type { RepositoryView } from "../git/repository-view.ts";
import { judgeableInput } from "../inputs/measurements-input.ts";
import { readManifest } from "../report/bundle/bundle.ts";
import { distinctSessions, type RunSession, sessionsOf } from "./sessions.ts";

/** What was read, with the notes of its readers. */
interface ReadSessions {
  readonly sessions: readonly RunSession[];
  readonly notes: readonly string[];
}

/** Versions of the records that the newest commits of a revision have below a directory, newest first. */
async function versionsOf(cwd: string, revision: string, pathspec: string): Promise<readonly StoredRecord[]> {
  const options = ["--objects", "--in-commit-order", `--max-count=${MAX_HISTORY}`];
  const listed = await git(cwd, ["rev-list", ...options, "--end-of-options", revision, "--", pathspec]);
  const blobs = listed.stdout.split("\n").flatMap((line) => {
    const [, id, name = ""] = /^(\w+) (?:.*\/)?([^/]+\/[^/]+)$/.exec(line) ?? [];
    return id !== undefined && isStoredName(name) && !name.endsWith(".peak.json") ? [{ id, name }] : [];
  });
  const records: StoredRecord[] = [];
  for (let from = 0; from < blobs.length; from += MAX_HISTORY) {
    const batch = blobs.slice(from, from + MAX_HISTORY);
    const { stdout } = await git(cwd, ["cat-file", "--batch"], { input: batch.map(({ id }) => `${id}\n`).join("") });
    // No line of a record looks like the one that git puts before it.
    const texts = stdout.split(/^\w{40,64} blob \d+$/m).slice(1);
    const parsed = batch.map(({ name }, i) => parseStored(name, texts[i] ?? ""));
    records.push(...parsed.flatMap((one) => ("skipped" in one ? [] : [one])));
  }
  return records;
}

/**
 * All sessions of a store: those of its records, and those that earlier commits of its ref or directory have, because a
 * record keeps the newest runs alone.
 */
export async function readStoreSessions(store: BaselineStore, root: string): Promise<ReadSessions> {
  const { exists, records, skipped } = await store.list();
  if (!exists) {
    const hint = "`stormlog-gate baseline refresh -- CMD` creates it.";
    throw invalidInput("BASELINE_STORE_UNREADABLE", `the store ${store.name} does not exist`, store.name, hint);
  }
  const location = store.name.slice(store.name.indexOf(":") + 1);
  const earlier =
    store.kind === "ref"
      ? await versionsOf(root, location, ":(top)")
      : await versionsOf(path.resolve(root, location), "HEAD", ".");
  const sessions = [...records, ...earlier].flatMap(({ record }) => [...sessionsOf(record)].reverse());
  return { sessions: distinctSessions(sessions), notes: skipped.map((reason) => `skipped: ${reason}`) };
}

async function sessionsOfBundle(directory: string): Promise<ReadSessions> {
  try {
    const { created_iso: time } = await readManifest(directory);
    const { scenarios, notes } = await judgeableInput(directory);
    const sessions = scenarios.flatMap(({ measurements: { scenario, fingerprint, runs: all } }) => {
      const own = { scenario, environment: fingerprintHash(fingerprint ?? {}), time, approved: true, accepted: null };
      const groups = groupBy(all, ({ session, commit }) => JSON.stringify([session, commit]));
      return [...groups.values()].map((runs): RunSession => {
        const { session, commit } = runs[0]!;
        return { ...own, session, commit, runs };
      });
    });
    return { sessions, notes: notes.map((note) => `${directory}: ${note}`) };
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    return { sessions: [], notes: [`skipped ${directory}: ${error.message} (${error.code})`] };
  }
}

/** The sessions of bundles. One that cannot be read is a note. */
export async function readBundleSessions(bundles: readonly string[]): Promise<ReadSessions> {
  const read: ReadSessions[] = [];
  for (const directory of bundles) read.push(await sessionsOfBundle(directory));
  const sessions = distinctSessions(read.flatMap((one) => one.sessions));
  return { sessions, notes: read.flatMap((one) => one.notes) };
}

/**
 * Sessions in their order: by commit on the first-parent line of HEAD where it has all commits, else by time. Those of
 * commits that the clone has and the line lacks are of other branches and left out, unless all were reviewed with it.
 */
export async function onMainLine(
  { sessions: all, notes }: ReadSessions,
  repository: RepositoryView,
  isReviewed: boolean,
) {
  const { stdout } = await git(repository.cwd, ["rev-list", "--first-parent", "--reverse", "HEAD"]);
  const positions: ReadonlyMap<string, number> = new Map((stdout.match(/\w+/g) ?? []).map((commit, i) => [commit, i]));
  const position = ({ commit }: RunSession) => positions.get(commit ?? "");
  const others = all.flatMap((one) => (one.commit === null || position(one) !== undefined ? [] : [one.commit]));
  // Commits that the clone lacks were squashed or pushed away, and say nothing.
  const unknown = isReviewed || stdout === "" ? new Set(others) : await repository.unknownCommits(others);
  const sessions = all.filter((one) => one.commit === null || position(one) !== undefined || unknown.has(one.commit));
  const byCommit = sessions.every((one) => position(one) !== undefined);
  sessions.sort((a, b) => (byCommit ? position(a)! - position(b)! : 0) || (a.time < b.time ? -1 : 1));
  const left = all.length - sessions.length;
  const note = `${plural(left, "session")} of commits that are not on this branch left out`;
  return { sessions, positions, notes: left === 0 ? notes : [...notes, note] };
}
