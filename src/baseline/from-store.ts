import { GateError, usageError } from "../core/errors.ts";
import type { Environment } from "../core/process/environment.ts";
import { type ComparableCommits, type RepositoryView, viewRepository } from "../git/repository-view.ts";
import type { Fingerprint } from "../telemetry/recording/model.ts";
import { absent, type BaselineAnswer, found, NextStep } from "./answer.ts";
import { fingerprintHash, identityConflicts, identityOf, scenarioDirectory } from "./identity.ts";
import { type BaselineRecord, comparedEpochs, selectRuns } from "./record.ts";
import type { StoreOpeners } from "./spec.ts";
import type { BaselineStore, StoreContent, StoredRecord } from "./store.ts";

/**
 * Maximum age of the newest comparable run, days. Drivers, images and data change under a baseline that is not
 * refreshed, and each change alone stays below every limit. Half a year is longer than any release train that still
 * measures.
 */
export const MAX_AGE_DAYS = 180;

/** A nightly job writes a ref, so a newest run older than this means that the job has stopped. Only a warning, days. */
export const QUIET_DAYS = 30;

const VARIABLE = "STORMLOG_GATE_BASELINE_MAX_DAYS";

/**
 * Maximum age of a baseline in days, from the environment; null = any age.
 * @throws GateError OPTION_INVALID (usage)
 */
function maxAgeDays(env: Environment): number | null {
  const text = env[VARIABLE];
  if (text === undefined || text === "") return MAX_AGE_DAYS;
  if (text === "off") return null;
  const days = Number(text);
  if (!Number.isFinite(days) || days <= 0) {
    throw usageError("OPTION_INVALID", `${VARIABLE} is "${text}"`, 'Set a number of days above 0, or "off".');
  }
  return days;
}

/** Days between the newest of some times (ISO 8601) and now; null when none of them can be parsed. */
function ageDays(times: readonly string[], now: Date): number | null {
  const read = times.map((time) => Date.parse(time)).filter((ms) => !Number.isNaN(ms));
  return read.length === 0 ? null : (now.getTime() - Math.max(...read)) / 86_400_000;
}

export interface LoadContext extends StoreOpeners {
  /** Directory of relative specs. */
  readonly root: string;
  readonly env: Environment;
  /** The repository of `root`; absent = it is read. */
  readonly repository?: RepositoryView | undefined;
  readonly now?: (() => Date) | undefined;
}

/** The record of the closest environment: no conflict first, then the same hash, then the most common fields. */
function nearest(records: readonly StoredRecord[], fingerprint: Fingerprint): StoredRecord | undefined {
  const hash = fingerprintHash(fingerprint);
  const ours = identityOf(fingerprint);
  const rank = ({ record }: StoredRecord): readonly number[] => [
    identityConflicts(record.fingerprint, fingerprint).length,
    fingerprintHash(record.fingerprint) === hash ? 0 : 1,
    -Object.entries(identityOf(record.fingerprint)).filter(([field, value]) => ours[field] === value).length,
  ];
  return [...records].sort((a, b) => {
    const [left, right] = [rank(a), rank(b)];
    const at = left.findIndex((value, index) => value !== right[index]);
    return at < 0 ? a.name.localeCompare(b.name, "en") : (left[at] as number) - (right[at] as number);
  })[0];
}

/** A scenario as its records may know it. */
export interface ScenarioQuery {
  readonly name: string;
  /** Hashes of other spellings of its definition; a record of one of them is a record of this scenario. */
  readonly otherDefinitions?: readonly string[] | undefined;
  /** Its name in the base commit, looked for when its own name has no baseline. */
  readonly formerName?: string | undefined;
}

/** The fingerprint with our own spelling of the scenario's definition. */
export function normalizeDefinition(
  theirs: Fingerprint,
  ours: Fingerprint,
  { otherDefinitions = [] }: ScenarioQuery,
): Fingerprint {
  const { scenario_definition: definition = null } = theirs;
  return typeof definition === "string" && otherDefinitions.includes(definition)
    ? { ...theirs, scenario_definition: ours.scenario_definition ?? null }
    : theirs;
}

/**
 * Commits whose runs count. A file store is part of the measured tree and was reviewed with it, so runs of commits that
 * this clone does not contain (squashed, force-pushed away) count as well. Commits it contains must be ancestors.
 */
async function comparable(
  { kind }: BaselineStore,
  records: readonly BaselineRecord[],
  { root, env, repository }: LoadContext,
): Promise<ComparableCommits> {
  const runs = records.flatMap(comparedEpochs).flatMap((epoch) => epoch.runs);
  const commits = [...new Set(runs.flatMap(({ commit }) => (commit === null ? [] : [commit])))];
  const view = repository ?? (await viewRepository(root, env));
  if (kind !== "file") return view.comparableCommits(commits);
  // Reviewed with the tree, so the port is not needed.
  const { commits: ancestors } = await view.comparableCommits(commits, null);
  if (ancestors === null) return { commits: null, warnings: [] };
  const unrelated = commits.filter((commit) => !ancestors.has(commit));
  return { commits: new Set([...ancestors, ...(await view.unknownCommits(unrelated))]), warnings: [] };
}

/** The skipped records that may belong to this scenario, with the next step. */
function unusable(store: BaselineStore, scenario: string, skipped: readonly string[]): BaselineAnswer {
  const warnings = skipped.map((reason) => `skipped in ${store.name}: ${reason}`);
  const own = skipped.filter((reason) => reason.startsWith(`${scenarioDirectory(scenario)}/`));
  const reason = `${store.name} has no usable baseline for scenario "${scenario}"`;
  if (own.length === 0) return absent(reason, NextStep.record, warnings);
  const newer = own.every((one) => one.includes("INPUT_SCHEMA_VERSION"));
  const first = own.length === 1 ? own[0] : `${own[0]}; and ${own.length - 1} more`;
  // Maximum number of characters of a skip reason, which may quote the record.
  return absent(`${reason} (${first?.slice(0, 100)})`, newer ? NextStep.upgrade : NextStep.repair, warnings);
}

/** A network store that cannot be read must not cost the verdict its other checks. */
async function read(store: BaselineStore, scenario: string): Promise<StoreContent | { readonly failure: string }> {
  try {
    return await store.list(scenario);
  } catch (error) {
    if (error instanceof GateError && error.code === "BASELINE_STORE_UNREADABLE" && error.kind === "error")
      return { failure: error.message };
    throw error;
  }
}

/** The records of some scenarios as they were read once, with the history that decides which of their runs count. */
export interface HeldStore {
  readonly store: BaselineStore;
  readonly content: StoreContent | { readonly failure: string };
  /** By scenario. */
  readonly comparable: ReadonlyMap<string, ComparableCommits>;
}

/** Everything that {@link selectBaseline} needs of a store. @throws GateError BASELINE_STORE_UNREADABLE (exit 5) */
export async function readStore(
  store: BaselineStore,
  scenarios: readonly string[],
  context: LoadContext,
): Promise<HeldStore> {
  const [first, ...others] = scenarios;
  let content = await read(store, first ?? "");
  // A store of files is read whole by the first look.
  for (const scenario of store.kind === "file" ? [] : others) {
    const more = await read(store, scenario);
    if ("failure" in content || "failure" in more) break;
    content = {
      exists: content.exists || more.exists,
      records: [...content.records, ...more.records],
      skipped: [...new Set([...content.skipped, ...more.skipped])],
    };
  }
  const comparableOf = new Map<string, ComparableCommits>();
  if ("failure" in content) return { store, content, comparable: comparableOf };
  for (const scenario of scenarios) {
    const own = content.records.flatMap(({ record }) => (record.scenario === scenario ? [record] : []));
    if (own.length > 0) comparableOf.set(scenario, await comparable(store, own, context));
  }
  return { store, content, comparable: comparableOf };
}

/**
 * The runs of a store to compare with: from the record of this scenario with the closest environment, the accepted runs
 * on an ancestor, unless the newest of them is too old.
 */
export function selectBaseline(
  { store, content, comparable: comparableOf }: HeldStore,
  wanted: ScenarioQuery,
  fingerprint: Fingerprint,
  { env, now }: LoadContext,
): BaselineAnswer {
  const { name: scenario } = wanted;
  if ("failure" in content) return absent(`${store.name} could not be read`, NextStep.retry, [content.failure]);
  if (!content.exists) return { ...absent(`the baseline store ${store.name} does not exist`), missing: true };
  const records = content.records
    .filter(({ record }) => record.scenario === scenario)
    .map(({ name, record }) => ({
      name,
      record: { ...record, fingerprint: { ...normalizeDefinition(record.fingerprint, fingerprint, wanted) } },
    }));
  const chosen = nearest(records, fingerprint);
  if (chosen === undefined) return unusable(store, scenario, content.skipped);
  const skipped = content.skipped.map((reason) => `skipped in ${store.name}: ${reason}`);
  const { commits, warnings: unchecked } = comparableOf.get(scenario) ?? { commits: null, warnings: [] };
  const warnings = [...skipped, ...unchecked];
  const runs = selectRuns(chosen.record, commits);
  if (runs.length === 0) {
    return absent(`no approved run in ${store.name} is on an ancestor of this commit`, NextStep.record, warnings);
  }
  const limit = maxAgeDays(env);
  const age = ageDays(
    runs.map(({ time }) => time),
    now?.() ?? new Date(),
  );
  if (age !== null && limit !== null && age > limit) {
    const reason = `the baseline in ${store.name} is stale: its newest run is ${Math.floor(age)} days old, more than ${limit}`;
    return absent(reason, NextStep.again, warnings);
  }
  if (age !== null && store.kind !== "file" && age > QUIET_DAYS) {
    warnings.push(`the newest baseline run in ${store.name} is ${Math.floor(age)} days old: does its nightly job run?`);
  }
  const answer = found(store.name, chosen.record, runs, commits, warnings);
  const text = content.peaks?.get(chosen.name);
  const opened = chosen.record.epochs.at(-1)?.opened;
  if (answer.kind === "absent" || text === undefined || opened === undefined) return answer;
  return { ...answer, peak: { text, opened } };
}
