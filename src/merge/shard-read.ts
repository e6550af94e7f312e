import type { RecordingFeatures } from "../analysis/features.ts";
import { codeOf, type ErrorKind, GateError } from "../core/errors.ts";
import type { Horizon } from "../core/units.ts";
import { type RunEnding, runEnding } from "../gate/run/run-ending.ts";
import { outputTail } from "../measure/session/output-tail.ts";
import type { ListedFile } from "../report/bundle/bundle-files.ts";
import { computeFeatures, type SampleSpan, type StoredFeatures } from "../report/bundle/features-document.ts";
import type { RecordingInfo } from "../telemetry/recording/model.ts";
import { checkFeatures, storedFeatures } from "./shard-features.ts";

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

/** Why a recording is unusable. */
export interface ShardFailure {
  readonly directory: string;
  readonly code: string;
  readonly kind: ErrorKind;
  readonly message: string;
  readonly hint: string | null;
}

type ShardAnswer =
  | { readonly kind: "read"; readonly shard: Shard }
  | { readonly kind: "unusable"; readonly failure: ShardFailure };

interface ShardOptions {
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
  const message = `the ${what} cannot be read (${codeOf(error) ?? String(error)})`;
  return { directory, code: "INPUT_UNREADABLE", kind: "invalid-input", message, hint: null };
}

/** Compare the stored features of a shard with its samples; SHARD_INVALID, or null where they agree. */
export async function verifyShard({ directory }: Shard, horizon: Horizon | null): Promise<ShardFailure | null> {
  try {
    const found = storedFeatures(directory, horizon);
    if (found !== null) await checkFeatures(found, directory);
    return null;
  } catch (error) {
    return failureOf(directory, error, "recording");
  }
}

/**
 * Read one shard by its stored features, or by its samples at their full rate. An unusable shard (truncated, damaged,
 * of a newer release, without a rank) is an answer and not an exception, so that the others still count.
 */
export async function readShard(directory: string, { horizon, verify }: ShardOptions): Promise<ShardAnswer> {
  try {
    return { kind: "read", shard: await shardOf(directory, horizon, verify) };
  } catch (error) {
    return { kind: "unusable", failure: failureOf(directory, error, "recording") };
  }
}

async function shardOf(directory: string, horizon: Horizon | null, verify: boolean): Promise<Shard> {
  const found = storedFeatures(directory, horizon);
  if (found === null) {
    const { info, stored, notes } = await computeFeatures(directory, horizon);
    return shardWith(directory, info, stored, { source: "computed", files: stored.files, notes });
  }
  if (verify) await checkFeatures(found, directory);
  const { info, stored, file, notes } = found;
  return shardWith(directory, info, stored, {
    source: verify ? "verified" : "stored",
    files: [...stored.files, file],
    notes: [...info.lost, ...notes],
  });
}

function shardWith(
  directory: string,
  info: RecordingInfo,
  { features, span }: StoredFeatures,
  more: Pick<Shard, "source" | "files" | "notes">,
): Shard {
  const ending = runEnding(info.exit, info.oom);
  return { directory, info, ending, outputTail: outputTail(directory), features, span, ...more };
}
