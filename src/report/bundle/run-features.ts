import path from "node:path";
import { extractFeatures } from "../../analysis/features.ts";
import { resolveOptions } from "../../analysis/options.ts";
import { invalidInput } from "../../core/errors.ts";
import { writeAtomically } from "../../core/files.ts";
import type { Horizon } from "../../core/units.ts";
import { readRunDirectory } from "../../telemetry/read-run-directory.ts";
import type { Recording, RecordingInfo } from "../../telemetry/recording/model.ts";
import { RECORDING_FILE } from "../../telemetry/recording/run-info.ts";
import { type LeftOut, type ListedFile, listFiles } from "./bundle-files.ts";
import {
  FEATURES_FILE,
  featuresText,
  parseFeatures,
  type SampleSpan,
  SHARD_LIMITS,
  type StoredFeatures,
} from "./features-document.ts";

/** A run directory with the features of its samples. */
export interface ComputedFeatures {
  readonly info: RecordingInfo;
  readonly stored: StoredFeatures;
  /** Text of their document; null where it cannot express a value. */
  readonly text: string | null;
  /** What the recording lacks. */
  readonly notes: readonly string[];
}

function spanOf({ epochNs, tables }: Recording): SampleSpan {
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

/** Files that belong to a run, without its features and unfinished writes. */
export const isRunFile = ({ path: name }: Pick<ListedFile, "path">): boolean =>
  name !== FEATURES_FILE && !name.endsWith(".part");

/** Features as they are read back, so that a report is the same to the byte whether they were stored or not. */
function throughText(stored: StoredFeatures): Pick<ComputedFeatures, "stored" | "text"> {
  const text = featuresText(stored);
  const answer = text === null ? null : parseFeatures(text);
  return answer?.kind === "read" ? { stored: answer.stored, text } : { stored, text: null };
}

/** A note on a file that is not listed: the program may have written to the directory, too. */
export const leftOutText = ({ path: name, reason }: LeftOut): string => `${name}: ${reason}`;

/**
 * Features of a run directory from its samples, at their full rate.
 * @throws GateError RECORDING_INVALID without a `recording.json`, those of `readRunDirectory`
 */
export async function computeFeatures(directory: string, horizon: Horizon | null): Promise<ComputedFeatures> {
  const { recording, notes } = await readRunDirectory(directory);
  const { info } = recording;
  if (info === null) {
    const hint = "Copy the whole directory, or omit it.";
    throw invalidInput("RECORDING_INVALID", `${RECORDING_FILE} is missing, so the rank is unknown`, directory, hint);
  }
  const features = extractFeatures(recording, resolveOptions({ horizon }), SHARD_LIMITS);
  const { files, leftOut } = await listFiles(directory);
  return {
    info,
    notes: [...notes, ...leftOut.map(leftOutText)],
    ...throughText({ horizon, span: spanOf(recording), features, files: files.filter(isRunFile) }),
  };
}

/**
 * Compute and write the `features.json` of a finished run directory, so that merging many need not read their samples.
 * @throws the system's error where the file cannot be written, GateError as `computeFeatures`
 */
export async function writeFeatures(directory: string): Promise<void> {
  const { text } = await computeFeatures(directory, null);
  if (text !== null) await writeAtomically(path.join(directory, FEATURES_FILE), text);
}
