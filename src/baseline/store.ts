import { GateError } from "../core/errors.ts";
import type { Fingerprint } from "../telemetry/recording/model.ts";
import { fingerprintHash } from "./identity.ts";
import { type BaselineRecord, parseBaselineRecord } from "./record.ts";
import { scenarioDirectory } from "./scenario-name.ts";

/** A record and its name in the store: `<scenario>/<fingerprint hash>.json`. */
export interface StoredRecord {
  readonly name: string;
  readonly record: BaselineRecord;
}

export interface StoreContent {
  /** False when there is no such store at all. */
  readonly exists: boolean;
  readonly records: readonly StoredRecord[];
  /** Records that could not be used, each with its reason: skipped, never fatal. */
  readonly skipped: readonly string[];
}

/** Where baselines live. Concurrent writers of one store lose nothing. */
export interface BaselineStore {
  /** As written in the spec: `file:baselines`, `ref:refs/stormlog/baselines`, `artifact:baselines`. */
  readonly name: string;
  /** Artifacts are only read. */
  readonly kind: "file" | "ref" | "artifact";
  /** Records of all scenarios; when one is named, at least those of that one. */
  list(scenario?: string): Promise<StoreContent>;
  /**
   * Read, change and write one record as a compare-and-swap; `change` may be called more than once.
   * @throws GateError BASELINE_STORE_UNWRITABLE, BASELINE_STORE_BUSY
   */
  update(
    scenario: string,
    fingerprint: Fingerprint,
    change: (current: BaselineRecord | null) => BaselineRecord,
  ): Promise<StoredRecord>;
}

/** Name of a record within any store. */
export function recordName(scenario: string, fingerprint: Fingerprint): string {
  return `${scenarioDirectory(scenario)}/${fingerprintHash(fingerprint)}.json`;
}

/** Whether a file on a ref is a record: other things (badges, histories) live beside them under other names. */
export function isRecordName(name: string): boolean {
  return /^[a-z0-9][^/]*\/[0-9a-f]{16}\.json$/.test(name);
}

/** A record this large was not written by us: fifty times what a record may be. */
export const MAX_STORED_BYTES = 1024 * 1024;

export function tooLarge(name: string): string {
  return `${name} is too large for a record`;
}

/** Parse the text of one record of a store: a corrupt or future one is a reason to skip it, not to stop. */
export function parseStored(name: string, text: string): StoredRecord | { readonly skipped: string } {
  try {
    return { name, record: parseBaselineRecord(JSON.parse(text), name) };
  } catch (error) {
    if (error instanceof GateError) return { skipped: `${error.message} (${error.code})` };
    return { skipped: `${name} is not complete JSON` };
  }
}

/** The content of a store that exists, from the texts of its records in order; null = that record cannot be read. */
export function contentOf(texts: readonly { readonly name: string; readonly text: string | null }[]): StoreContent {
  const records: StoredRecord[] = [];
  const skipped: string[] = [];
  for (const { name, text } of texts) {
    const parsed = text === null ? { skipped: `${name} cannot be read` } : parseStored(name, text);
    if ("skipped" in parsed) skipped.push(parsed.skipped);
    else records.push(parsed);
  }
  return { exists: true, records, skipped };
}

export function unwritable(store: string, reason: string): GateError {
  return new GateError("BASELINE_STORE_UNWRITABLE", `${store} cannot be written: ${reason}`, {
    kind: "error",
    where: store,
  });
}

export function busy(store: string): GateError {
  return new GateError("BASELINE_STORE_BUSY", `${store} was changed by others at every attempt`, {
    kind: "error",
    where: store,
    hint: "Try again when fewer jobs write baselines at once.",
  });
}
