import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { parseMeasurements } from "../analysis/measured-run.ts";
import type { Measurements } from "../analysis/measurements.ts";
import { GateError, invalidInput } from "../core/errors.ts";
import type { Fingerprint } from "../telemetry/model.ts";
import { comparableCommits, unknownCommits } from "./ancestors.ts";
import type { Envelope } from "./envelope.ts";
import { fingerprintHash, identityConflicts, identityOf } from "./identity.ts";
import { type BaselineRecord, type BaselineRun, parseBaselineRecord, selectRuns, toMeasurements } from "./record.ts";
import { scenarioDirectory } from "./scenario-name.ts";
import { type BaselineSpec, parseBaselineSpec } from "./spec.ts";
import type { BaselineStore, StoredRecord } from "./store.ts";

/** What a report says of the baseline that was used. */
export interface BaselineFacts {
  readonly source: string;
  readonly runs: number;
  readonly sessions: number;
  readonly newest_iso: string | null;
  readonly commit: string | null;
}

/** The answer to "what may this run be compared with?". */
export type BaselineAnswer =
  | {
      readonly kind: "found";
      /** Its fingerprint may still conflict with the candidate's; the verdict then names the field. */
      readonly measurements: Measurements;
      readonly envelopes: readonly Envelope[];
      readonly summary: BaselineFacts;
      readonly warnings: readonly string[];
    }
  | {
      readonly kind: "absent";
      readonly reason: string;
      readonly nextStep: string;
      readonly warnings: readonly string[];
    };

export interface LoadContext {
  /** Folder that relative specs start from. */
  readonly root: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const NEXT_STEP = "Run `stormlog-gate baseline refresh` on the main branch and keep the result.";

function absent(reason: string, warnings: readonly string[] = []): BaselineAnswer {
  return { kind: "absent", reason, nextStep: NEXT_STEP, warnings };
}

function factsOf(source: string, runs: readonly BaselineRun[]): BaselineFacts {
  const newest = runs.at(-1);
  return {
    source,
    runs: runs.length,
    sessions: new Set(runs.map(({ session }) => session)).size,
    newest_iso: newest?.time ?? null,
    commit: newest?.commit ?? null,
  };
}

function found(
  source: string,
  record: BaselineRecord,
  runs: readonly BaselineRun[],
  warnings: readonly string[],
): BaselineAnswer {
  return {
    kind: "found",
    measurements: toMeasurements(record, runs),
    envelopes: record.envelopes,
    summary: factsOf(source, runs),
    warnings,
  };
}

/** The record of the nearest environment: no conflict before some, then the same hash, then the most fields in common. */
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

/**
 * Commits whose runs count. A file store is part of the measured tree and was reviewed with it, so runs of commits this
 * clone no longer knows (squashed, force-pushed away) count as well; commits it knows must be ancestors.
 */
async function comparable(
  store: BaselineStore,
  record: BaselineRecord,
  context: LoadContext,
): Promise<ReadonlySet<string> | null> {
  const ancestors = await comparableCommits(context.root, context.env);
  if (ancestors === null || store.kind !== "file") return ancestors;
  const commits = (record.epochs.at(-1)?.runs ?? []).flatMap(({ commit }) => (commit === null ? [] : [commit]));
  const strangers = commits.filter((commit) => !ancestors.has(commit));
  return new Set([...ancestors, ...(await unknownCommits(context.root, strangers))]);
}

async function fromStore(
  store: BaselineStore,
  scenario: string,
  fingerprint: Fingerprint,
  context: LoadContext,
): Promise<BaselineAnswer> {
  const content = await store.list();
  if (!content.exists) return absent(`there is no baseline store ${store.name}`);
  const warnings = content.skipped.map((reason) => `skipped in ${store.name}: ${reason}`);
  const chosen = nearest(
    content.records.filter(({ record }) => record.scenario === scenario),
    fingerprint,
  );
  if (chosen === undefined) return absent(`${store.name} has no usable baseline for scenario "${scenario}"`, warnings);
  const runs = selectRuns(chosen.record, await comparable(store, chosen.record, context));
  if (runs.length === 0) return absent(`no approved run in ${store.name} is on an ancestor of this commit`, warnings);
  return found(store.name, chosen.record, runs, warnings);
}

async function readJson(file: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
    throw invalidInput(
      missing ? "INPUT_NOT_FOUND" : "INPUT_NO_PERMISSION",
      `the baseline ${file} cannot be read: ${(error as Error).message}`,
      file,
    );
  }
  try {
    return JSON.parse(text);
  } catch {
    throw invalidInput(
      text.trim() === "" ? "INPUT_EMPTY" : "INPUT_TRUNCATED",
      `the baseline ${file} is not complete JSON`,
      file,
    );
  }
}

/** A baseline named directly is what the user means: anything wrong with it is an error, not a reason to look elsewhere. */
async function fromFile(source: string, file: string): Promise<BaselineAnswer> {
  const json = await readJson(file);
  const schema = (json as { schema?: unknown } | null)?.schema;
  if (typeof schema === "string" && schema.startsWith("stormlog.baseline/")) {
    const record = parseBaselineRecord(json, file);
    return found(source, record, selectRuns(record, null), []);
  }
  const measurements = parseMeasurements(json, file);
  const sessions = new Set(measurements.runs.map(({ session }) => session)).size;
  const commit = measurements.runs.at(-1)?.commit ?? null;
  return {
    kind: "found",
    measurements,
    envelopes: [],
    summary: { source, runs: measurements.runs.length, sessions, newest_iso: null, commit },
    warnings: [],
  };
}

/** A bundle of several scenarios keeps one file for each beside its runs; of one scenario, only the file at the top. */
function bundleFile(directory: string, scenario: string): string {
  const own = path.join(directory, "runs", scenarioDirectory(scenario), "measurements.json");
  return existsSync(own) ? own : path.join(directory, "measurements.json");
}

async function load(
  spec: BaselineSpec,
  scenario: string,
  fingerprint: Fingerprint,
  context: LoadContext,
): Promise<BaselineAnswer> {
  switch (spec.kind) {
    case "store":
      return fromStore(spec.store, scenario, fingerprint, context);
    case "bundle":
      return fromFile(spec.text, bundleFile(spec.directory, scenario));
    case "file":
      return fromFile(spec.text, spec.file);
    default:
      return spec satisfies never;
  }
}

/**
 * The first spec that has something to compare with. Where none has, the reasons of all of them are one answer.
 * @throws GateError for a file named directly that is corrupt, of a future schema or absent (exit 5), and for a bad spec (exit 2)
 */
export async function loadFirstBaseline(
  specs: readonly string[],
  scenario: string,
  fingerprint: Fingerprint,
  context: LoadContext,
): Promise<BaselineAnswer> {
  if (specs.length === 0) return { ...absent("no baseline was asked for"), warnings: [] };
  const reasons: string[] = [];
  const warnings: string[] = [];
  for (const text of specs) {
    const answer = await load(parseBaselineSpec(text, context.root), scenario, fingerprint, context);
    if (answer.kind === "found") return { ...answer, warnings: [...warnings, ...answer.warnings] };
    reasons.push(answer.reason);
    warnings.push(...answer.warnings);
  }
  return absent(reasons.join("; "), warnings);
}

/** Stores only: where `refresh` and `accept` write. @throws GateError BASELINE_SPEC_INVALID (usage) */
export function storeOf(text: string, root: string): BaselineStore {
  const spec = parseBaselineSpec(text, root);
  if (spec.kind === "store") return spec.store;
  throw new GateError("BASELINE_SPEC_INVALID", `"${text}" is not a store that can be written`, {
    kind: "usage",
    hint: "Use file:DIR or ref:NAME.",
  });
}
