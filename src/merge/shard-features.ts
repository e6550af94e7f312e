import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { RecordingFeatures } from "../analysis/features.ts";
import { GateError, invalidInput } from "../core/errors.ts";
import { readBounded } from "../core/files.ts";
import type { Horizon } from "../core/units.ts";
import { bundleFiles, type ListedFile } from "../report/bundle/bundle-files.ts";
import {
  computeFeatures,
  FEATURES_FILE,
  isRunFile,
  leftOutText,
  MAX_FEATURES_BYTES,
  parseFeatures,
  type StoredFeatures,
} from "../report/bundle/features-document.ts";
import { alteredFiles } from "../report/bundle/read-bundle.ts";
import type { RecordingInfo } from "../telemetry/recording/model.ts";
import { RECORDING_FILE, SAMPLES_FILE } from "../telemetry/recording/run-files.ts";
import { readRecordingFile, readRecordingInfo } from "../telemetry/recording/run-info.ts";

const SHARD_INVALID = "SHARD_INVALID";

/** "rank 3 on node1: "; empty where that cannot be read. */
function rankText(directory: string): string {
  try {
    const { rank, host } = readRecordingInfo(directory).identity;
    return `rank ${rank} on ${host}: `;
  } catch (error) {
    if (error instanceof GateError) return "";
    throw error;
  }
}

function contradiction(directory: string, what: string): GateError {
  return invalidInput(
    SHARD_INVALID,
    `${rankText(directory)}${what}`,
    directory,
    `Remove ${FEATURES_FILE} to judge this rank by its samples, if its directory was changed on purpose.`,
  );
}

const sha256Of = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

/** Features as the rank stored them, and the digest of their file. */
interface FoundFeatures {
  readonly stored: StoredFeatures;
  readonly info: RecordingInfo;
  readonly file: ListedFile;
  /** Files that are not listed. */
  readonly notes: readonly string[];
}

/**
 * What a directory has beyond exactly the listed files with their sizes: notes on files that cannot be listed; null
 * where it has other files.
 */
function unlistedFiles(directory: string, listed: readonly ListedFile[]): readonly string[] | null {
  const { files, leftOut } = bundleFiles(directory);
  const own = files.filter(isRunFile);
  const sizes = new Map(listed.map(({ path: name, bytes }) => [name, bytes]));
  const same = own.length === sizes.size && own.every(({ path: name, bytes }) => sizes.get(name) === bytes);
  return same ? leftOut.map(leftOutText) : null;
}

/** Where features contradict themselves or the rank that `recording.json` names; null where they do not. */
function inconsistency({ series, ranks }: RecordingFeatures, { identity }: RecordingInfo): string | null {
  const measured = new Set(series.map(({ analysis }) => JSON.stringify([analysis.rank, analysis.device])));
  const compared = ranks.kind === "ranks" ? ranks.ranks : [];
  const bare = compared.find(({ summary, device }) => !measured.has(JSON.stringify([summary.rank, device])));
  if (bare !== undefined) return `its features have no series of rank ${bare.summary.rank} on ${bare.device}`;
  const known = new Set(series.map(({ analysis }) => analysis.rank));
  return known.size === 0 || known.has(identity.rank)
    ? null
    : `its features are those of rank ${[...known].join(", ")}`;
}

/**
 * The stored features of a directory; null where they must be computed.
 * @throws GateError SHARD_INVALID for features that cannot be those of this rank, those of `readRecordingFile`
 */
export function storedFeatures(directory: string, horizon: Horizon | null): FoundFeatures | null {
  const file = path.join(directory, FEATURES_FILE);
  if (![FEATURES_FILE, SAMPLES_FILE, RECORDING_FILE].every((name) => existsSync(path.join(directory, name))))
    return null;
  const bytes = readBounded(file, MAX_FEATURES_BYTES, "refuse");
  const answer = parseFeatures(bytes.toString("utf8"));
  if (answer.kind === "invalid") throw contradiction(directory, `${FEATURES_FILE}: ${answer.reason}`);
  if (answer.kind === "other") return null;
  const { stored } = answer;
  const recording = readRecordingFile(directory);
  const listed = stored.files.find(({ path: name }) => name === RECORDING_FILE);
  if (listed?.sha256 !== sha256Of(recording.bytes)) throw contradiction(directory, changedText(RECORDING_FILE));
  const notes = isDeepStrictEqual(stored.horizon, horizon) ? unlistedFiles(directory, stored.files) : null;
  if (notes === null) return null;
  const wrong = inconsistency(stored.features, recording.info);
  if (wrong !== null) throw contradiction(directory, wrong);
  return {
    stored,
    info: recording.info,
    file: { path: FEATURES_FILE, bytes: bytes.length, sha256: sha256Of(bytes) },
    notes,
  };
}

const changedText = (file: string): string => `${file} differs from what ${FEATURES_FILE} lists`;

/**
 * Compare stored features with those of the samples.
 * @throws GateError SHARD_INVALID where the samples give other features, or a file is not the one that was listed
 */
export async function checkFeatures({ stored }: FoundFeatures, directory: string): Promise<void> {
  const [changed] = await alteredFiles(directory, stored.files);
  if (changed !== undefined) throw contradiction(directory, changedText(changed));
  const computed = await computeFeatures(directory, stored.horizon);
  const same = (["features", "span"] as const).every((key) => isDeepStrictEqual(stored[key], computed.stored[key]));
  if (!same) throw contradiction(directory, "its features are not those of its samples");
}
