import { GateError } from "../core/errors.ts";
import type { Fingerprint } from "../telemetry/recording/model.ts";
import { fingerprintHash, scenarioDirectory } from "./identity.ts";
import { type BaselineRecord, parseBaselineRecord } from "./record.ts";
import { pruneRecord, serializeRecord } from "./record-size.ts";

/**
 * Maximum depth of a baseline ref's history before the next write begins a new root. A nightly refresh of several
 * scenarios reaches it in months, and the objects of so many records stay below a few megabytes.
 */
export const MAX_HISTORY = 500;

const TRAILER = "Stormlog-Depth";

/** Number of commits on the ref up to this one, from its message; 0 without a trailer. */
export function depthOf(message: string): number {
  const [, digits] = new RegExp(`^${TRAILER}: (\\d{1,9})$`, "m").exec(message) ?? [];
  return digits === undefined ? 0 : Number(digits);
}

/** A commit message that contains its depth, so that the history need not be counted. */
export function withDepth(message: string, depth: number): string {
  return `${message}\n\n${TRAILER}: ${depth}\n`;
}

/** A record and its name in the store: `<scenario>/<fingerprint hash>.json`. */
export interface StoredRecord {
  readonly name: string;
  readonly record: BaselineRecord;
}

export interface StoreContent {
  /** False when the store does not exist. */
  readonly exists: boolean;
  readonly records: readonly StoredRecord[];
  /** What the peaks of some records consist of, as written, by the name of the record. */
  readonly peaks?: ReadonlyMap<string, string>;
  /** Records that could not be used, each with its reason. They are skipped and never fatal. */
  readonly skipped: readonly string[];
}

/** A store of baselines. Concurrent writers of one store lose nothing. */
export interface BaselineStore {
  /** As written in the spec: `file:baselines`, `ref:refs/stormlog/baselines`, `artifact:baselines`. */
  readonly name: string;
  /** Artifacts are read-only. */
  readonly kind: "file" | "ref" | "artifact";
  /** Records of all scenarios, or at least those of the named one. */
  list(scenario?: string): Promise<StoreContent>;
  /**
   * Reads, changes and writes one record as a compare-and-swap. `change` may be called more than once.
   * @throws GateError BASELINE_STORE_UNWRITABLE, BASELINE_STORE_BUSY
   */
  update(
    scenario: string,
    fingerprint: Fingerprint,
    change: (current: BaselineRecord | null) => BaselineRecord,
  ): Promise<StoredRecord>;
  /** Writes what the peak of a record consists of beside it; absent where the store keeps records alone. */
  keepPeak?(record: string, text: string): Promise<void>;
}

/** `<scenario>/<fingerprint hash>.peak.json`, beside the record of this name. */
export const peakName = (record: string): string => record.replace(/\.json$/, ".peak.json");

/** Name of a record within any store. */
export function recordName(scenario: string, fingerprint: Fingerprint): string {
  return `${scenarioDirectory(scenario)}/${fingerprintHash(fingerprint)}.json`;
}

/** Whether a file on a ref is a record, or what its peak consists of. Badges and histories have other names. */
export function isStoredName(name: string): boolean {
  return /^[a-z0-9][^/]*\/[0-9a-f]{16}(?:\.peak)?\.json$/.test(name);
}

/** A larger record was not written by this tool: fifty times the limit of a record. */
export const MAX_STORED_BYTES = 1024 * 1024;

export function tooLarge(name: string): string {
  return `${name} is too large for a record`;
}

/** Parses one record of a store. A corrupt or newer one is skipped, not fatal. */
export function parseStored(name: string, text: string): StoredRecord | { readonly skipped: string } {
  try {
    return { name, record: parseBaselineRecord(JSON.parse(text), name) };
  } catch (error) {
    if (error instanceof GateError) return { skipped: `${error.message} (${error.code})` };
    return { skipped: `${name} is not complete JSON` };
  }
}

/**
 * A record of a store after a change, with its new text. One that cannot be read is not overwritten: it may be a newer
 * version's. @throws GateError BASELINE_STORE_UNWRITABLE
 */
export function changedRecord(
  store: string,
  name: string,
  text: string | null,
  change: (current: BaselineRecord | null) => BaselineRecord,
): { readonly text: string; readonly value: StoredRecord } {
  const known = text === null ? null : parseStored(name, text);
  if (known !== null && "skipped" in known) throw unwritable(store, known.skipped);
  const record = pruneRecord(change(known?.record ?? null));
  return { text: serializeRecord(record), value: { name, record } };
}

/** The content of an existing store, from the text of its records in order; null = that record cannot be read. */
export function contentOf(texts: readonly { readonly name: string; readonly text: string | null }[]): StoreContent {
  const records: StoredRecord[] = [];
  const skipped: string[] = [];
  const peaks = new Map<string, string>();
  for (const { name, text } of texts) {
    if (name.endsWith(".peak.json")) {
      if (text !== null) peaks.set(name.replace(/\.peak\.json$/, ".json"), text);
      continue;
    }
    const parsed = text === null ? { skipped: `${name} cannot be read` } : parseStored(name, text);
    if ("skipped" in parsed) skipped.push(parsed.skipped);
    else records.push(parsed);
  }
  return { exists: true, records, skipped, ...(peaks.size === 0 ? {} : { peaks }) };
}

export function unwritable(store: string, reason: string): GateError {
  return new GateError("BASELINE_STORE_UNWRITABLE", `${store} cannot be written: ${reason}`, { where: store });
}

export function busy(store: string): GateError {
  return new GateError("BASELINE_STORE_BUSY", `${store} was changed by other writers at every attempt`, {
    where: store,
    hint: "Try again when fewer jobs write baselines at the same time.",
  });
}
