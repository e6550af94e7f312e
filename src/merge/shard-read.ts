import { extractFeatures, type RecordingFeatures } from "../analysis/features.ts";
import { resolveOptions } from "../analysis/options.ts";
import { type ErrorKind, GateError, invalidInput } from "../core/errors.ts";
import type { Horizon } from "../core/horizon.ts";
import { outputTail } from "../gate/output-tail.ts";
import { type RunEnding, runEnding } from "../gate/run-ending.ts";
import { type ListedFile, listFiles } from "../report/bundle/bundle-files.ts";
import { readRunDirectory } from "../telemetry/read-directory.ts";
import type { Recording, RecordingInfo } from "../telemetry/recording/model.ts";
import { RECORDING_FILE } from "../telemetry/recording/run-info.ts";

/** What is kept of a rank whatever its length: enough that jobs of some minutes lose nothing. */
export const SHARD_LIMITS = { intervals: 512, steps: 512 } as const;

/** A recording of one rank or node, reduced to what its job is judged by. Small, and the same wherever it was made. */
export interface Shard {
  /** Absolute. */
  readonly directory: string;
  readonly info: RecordingInfo;
  readonly ending: RunEnding;
  readonly outputTail: string | null;
  readonly features: RecordingFeatures;
  /** First and last sample, Unix nanoseconds; null where there is none. */
  readonly span: { readonly firstNs: bigint; readonly lastNs: bigint } | null;
  /** Every file of the directory with its digest. */
  readonly files: readonly ListedFile[];
  /** What the recording lacks, in words. */
  readonly notes: readonly string[];
}

/** A failure as plain data: it may have crossed from one thread to another. */
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
}

function spanOf({ epochNs, tables }: Recording): Shard["span"] {
  if (epochNs === null) return null;
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const { timeNs } of tables) {
    if (timeNs === null || timeNs.length === 0) continue;
    first = Math.min(first, timeNs[0] ?? first);
    last = Math.max(last, timeNs[timeNs.length - 1] ?? last);
  }
  if (!(last >= first)) return null;
  return { firstNs: epochNs + BigInt(Math.round(first)), lastNs: epochNs + BigInt(Math.round(last)) };
}

function failureOf(directory: string, error: unknown): ShardFailure {
  if (error instanceof GateError) {
    const { code, kind, message, hint = null } = error;
    return { directory, code, kind, message, hint };
  }
  const told = error instanceof Error && "code" in error ? String(error.code) : String(error);
  const message = `the recording cannot be read (${told})`;
  return { directory, code: "INPUT_UNREADABLE", kind: "invalid-input", message, hint: null };
}

/**
 * Read one shard: its samples once, at their full rate, then only what is small is kept. One that cannot be used (cut, damaged, of a
 * newer release, not saying which rank it is) is an answer, not an exception: the others still count.
 */
export async function readShard(directory: string, { horizon }: ShardOptions): Promise<ShardAnswer> {
  try {
    const { recording, notes } = await readRunDirectory(directory);
    const { info } = recording;
    if (info === null) {
      throw invalidInput(
        "RECORDING_INVALID",
        `${RECORDING_FILE} is missing: nothing says which rank this is`,
        directory,
        "Copy the whole directory, or leave it out.",
      );
    }
    const features = extractFeatures(recording, resolveOptions({ horizon }), SHARD_LIMITS);
    return {
      kind: "read",
      shard: {
        directory,
        info,
        ending: runEnding(info.exit, info.oom),
        outputTail: outputTail(directory),
        features,
        span: spanOf(recording),
        files: (await listFiles(directory, new Set())).filter(({ path: name }) => !name.endsWith(".part")),
        notes,
      },
    };
  } catch (error) {
    return { kind: "unusable", failure: failureOf(directory, error) };
  }
}
