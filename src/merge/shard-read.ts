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

/** Bounds of what is kept of a rank of any length; jobs of a few minutes are kept whole. */
export const SHARD_LIMITS = { intervals: 512, steps: 512 } as const;

/** A recording of one rank or node, reduced to the small features by which its job is judged. */
export interface Shard {
  /** Absolute. */
  readonly directory: string;
  readonly info: RecordingInfo;
  readonly ending: RunEnding;
  readonly outputTail: string | null;
  readonly features: RecordingFeatures;
  /** First and last sample, Unix nanoseconds; null without samples. */
  readonly span: { readonly firstNs: bigint; readonly lastNs: bigint } | null;
  /** Every file of the directory with its digest. */
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

/**
 * Read one shard at its full rate and keep only small features. An unusable shard (truncated, damaged, of a newer
 * release, without a rank) is an answer and not an exception, so that the others still count.
 */
export async function readShard(directory: string, { horizon }: ShardOptions): Promise<ShardAnswer> {
  try {
    const { recording, notes } = await readRunDirectory(directory);
    const { info } = recording;
    if (info === null) {
      throw invalidInput(
        "RECORDING_INVALID",
        `${RECORDING_FILE} is missing, so the rank is unknown`,
        directory,
        "Copy the whole directory, or omit it.",
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
    return { kind: "unusable", failure: failureOf(directory, error, "recording") };
  }
}
