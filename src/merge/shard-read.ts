import { createHash } from "node:crypto";
import { existsSync, lstatSync, readdirSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { RecordingFeatures } from "../analysis/features.ts";
import { type ErrorKind, GateError, invalidInput } from "../core/errors.ts";
import { PARTIAL, readBounded } from "../core/files.ts";
import type { Horizon } from "../core/horizon.ts";
import { outputTail } from "../gate/output-tail.ts";
import { type RunEnding, runEnding } from "../gate/run-ending.ts";
import type { ListedFile } from "../report/bundle/bundle-files.ts";
import { type ComputedFeatures, computeFeatures, isRunFile } from "../report/bundle/run-features.ts";
import {
  FEATURES_FILE,
  MAX_FEATURES_BYTES,
  parseFeatures,
  type SampleSpan,
  type StoredFeatures,
} from "../report/documents/features-document.ts";
import type { RecordingInfo } from "../telemetry/recording/model.ts";
import { SAMPLES_FILE } from "../telemetry/recording/run-directory.ts";
import { readRecordingInfo } from "../telemetry/recording/run-info.ts";

/** Where features come from: the rank itself, the rank and confirmed by its samples, or its samples alone. */
export type FeaturesSource = "stored" | "verified" | "computed";

/** A recording of one rank or node, reduced to the small features by which its job is judged. */
export interface Shard {
  /** Absolute. */
  readonly directory: string;
  readonly info: RecordingInfo;
  readonly ending: RunEnding;
  readonly outputTail: string | null;
  readonly features: RecordingFeatures;
  readonly source: FeaturesSource;
  /** First and last sample, Unix nanoseconds; null without samples. */
  readonly span: SampleSpan;
  /** Every file of the directory with its digest; as the rank wrote it where the features are stored ones. */
  readonly files: readonly ListedFile[];
  /** What the recording lacks. */
  readonly notes: readonly string[];
}

/** A failure as plain data, because it crosses threads. */
export interface ShardFailure {
  readonly directory: string;
  readonly code: string;
  readonly kind: ErrorKind;
  readonly message: string;
  readonly hint: string | null;
}

export type ShardAnswer =
  | { readonly kind: "read"; readonly shard: Shard }
  | { readonly kind: "unusable"; readonly failure: ShardFailure };

export interface ShardOptions {
  readonly horizon: Horizon | null;
  /** Compute stored features again, and compare. */
  readonly verify: boolean;
}

/** @param what "bundle" or "recording" */
export function failureOf(directory: string, error: unknown, what: string): ShardFailure {
  if (error instanceof GateError) {
    const { code, kind, message, hint = null } = error;
    return { directory, code, kind, message, hint };
  }
  const reason = error instanceof Error && "code" in error ? String(error.code) : String(error);
  const message = `the ${what} cannot be read (${reason})`;
  return { directory, code: "INPUT_UNREADABLE", kind: "invalid-input", message, hint: null };
}

export const SHARD_INVALID = "SHARD_INVALID";

function contradiction(directory: string, what: string): GateError {
  return invalidInput(
    SHARD_INVALID,
    what,
    directory,
    `Remove ${FEATURES_FILE} to judge this rank by its samples, if its directory was changed on purpose.`,
  );
}

/** Features as the rank stored them, and the digest of their file. */
interface Found {
  readonly stored: StoredFeatures;
  readonly file: ListedFile;
}

/** Whether a directory has exactly these files with these sizes. A thousand directories are asked: no promise each. */
function hasSameFiles(directory: string, listed: readonly ListedFile[]): boolean {
  const names = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.relative(directory, path.join(entry.parentPath, entry.name)).split(path.sep).join("/"))
    .filter((name) => isRunFile({ path: name }) && !name.endsWith(PARTIAL));
  const sizes = new Map(listed.map(({ path: name, bytes }) => [name, bytes]));
  if (names.length !== sizes.size) return false;
  return names.every((name) => {
    const found = lstatSync(path.join(directory, name));
    return found.isFile() && found.size === sizes.get(name);
  });
}

/** The stored features of a directory; null where they must be computed. */
function storedFeatures(directory: string, horizon: Horizon | null): Found | null {
  const file = path.join(directory, FEATURES_FILE);
  if (!existsSync(file) || !existsSync(path.join(directory, SAMPLES_FILE))) return null;
  const bytes = readBounded(file, MAX_FEATURES_BYTES, "refuse");
  const answer = parseFeatures(bytes.toString("utf8"));
  if (answer.kind === "invalid") throw contradiction(directory, `${FEATURES_FILE}: ${answer.reason}`);
  if (answer.kind === "other" || !isDeepStrictEqual(answer.stored.horizon, horizon)) return null;
  const { stored } = answer;
  if (!hasSameFiles(directory, stored.files)) return null;
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { stored, file: { path: FEATURES_FILE, bytes: bytes.length, sha256 } };
}

/** @throws GateError SHARD_INVALID where the samples give other features, or a file is not the one that was listed */
function checkSame({ stored }: Found, computed: ComputedFeatures, directory: string): void {
  const { rank, host } = computed.info.identity;
  const bySamples = computed.stored;
  const same = (["features", "span"] as const).every((key) => isDeepStrictEqual(stored[key], bySamples[key]));
  const digests = new Map(bySamples.files.map((file) => [file.path, file.sha256]));
  const changed = stored.files.find(({ path: name, sha256 }) => digests.get(name) !== sha256);
  if (changed !== undefined) {
    throw contradiction(directory, `rank ${rank} on ${host}: ${changed.path} differs from what ${FEATURES_FILE} lists`);
  }
  if (!same) throw contradiction(directory, `rank ${rank} on ${host}: its features are not those of its samples`);
}

/**
 * Compare the stored features of a shard with its samples.
 * @throws GateError SHARD_INVALID
 */
export async function verifyShard({ directory, source }: Shard, horizon: Horizon | null): Promise<void> {
  if (source !== "stored") return;
  const found = storedFeatures(directory, horizon);
  if (found !== null) checkSame(found, await computeFeatures(directory, horizon), directory);
}

/**
 * Read one shard by its stored features, or by its samples at their full rate. An unusable shard (truncated, damaged,
 * of a newer release, without a rank) is an answer and not an exception, so that the others still count.
 */
export async function readShard(directory: string, { horizon, verify }: ShardOptions): Promise<ShardAnswer> {
  try {
    const found = storedFeatures(directory, horizon);
    const computed = found === null || verify ? await computeFeatures(directory, horizon) : null;
    if (found !== null && computed !== null) checkSame(found, computed, directory);
    const info = computed?.info ?? readRecordingInfo(directory);
    const stored = found?.stored ?? computed?.stored;
    if (stored === undefined) throw new Error("features are stored or computed");
    return {
      kind: "read",
      shard: {
        directory,
        info,
        ending: runEnding(info.exit, info.oom),
        outputTail: outputTail(directory),
        features: stored.features,
        source: found === null ? "computed" : verify ? "verified" : "stored",
        span: stored.span,
        files: found === null ? stored.files : [...stored.files, found.file],
        notes: computed?.notes ?? info.lost,
      },
    };
  } catch (error) {
    return { kind: "unusable", failure: failureOf(directory, error, "recording") };
  }
}
