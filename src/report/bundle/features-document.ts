import { createHash } from "node:crypto";
import path from "node:path";
import * as v from "valibot";
import { extractFeatures, type RecordingFeatures } from "../../analysis/features.ts";
import { ANALYSIS_VERSION, count, number, text, withCounts } from "../../analysis/series/document.ts";
import { FeaturesSchema, list, nanoseconds } from "../../analysis/series/features-schema.ts";
import { invalidInput } from "../../core/errors.ts";
import { writeAtomically } from "../../core/files.ts";
import { issueText } from "../../core/issue-text.ts";
import { isNestedWithin } from "../../core/json.ts";
import { packageVersion } from "../../core/package-root.ts";
import type { Horizon } from "../../core/units.ts";
import { readRunDirectory } from "../../telemetry/read-run-directory.ts";
import type { Recording, RecordingInfo } from "../../telemetry/recording/model.ts";
import { RECORDING_FILE } from "../../telemetry/recording/run-files.ts";
import { type LeftOut, type ListedFile, listFiles } from "./bundle-files.ts";

/** Name of the document in a run directory. */
export const FEATURES_FILE = "features.json";
/** The features of a rank have some 20 kB; those of a node with hundreds of ranks far less than this. */
export const MAX_FEATURES_BYTES = 64 * 2 ** 20;

/** Samples of a rank that are kept one by one; jobs of a few minutes are kept whole. */
export const SHARD_LIMITS = { intervals: 512, steps: 512 } as const;

const ENGINE = `v8 ${process.versions.v8} ${process.arch}`;
/** A document has ten levels or so. Its digest is that of its text, and writing that needs stack for each level. */
const MAX_NESTING = 64;
/** First and last sample, Unix nanoseconds. */
const SpanSchema = v.nullable(v.object({ firstNs: nanoseconds, lastNs: nanoseconds }));
export type SampleSpan = v.InferOutput<typeof SpanSchema>;

/**
 * `stormlog.features/1`: what a rank's recording is judged by, computed where its samples are. Sizes in bytes, times in
 * nanoseconds; null is unknown.
 */
const FeaturesDocumentSchema = v.object({
  schema: v.literal("stormlog.features/1"),
  /** Release that computed them; another one computes them again. */
  tool_version: text,
  /** JavaScript engine and processor architecture, by which the last digits of a logarithm may differ. */
  engine: text,
  analysis_version: count,
  horizon: v.nullable(
    v.variant("kind", [
      v.object({ kind: v.literal("steps"), steps: number }),
      v.object({ kind: v.literal("seconds"), seconds: number }),
    ]),
  ),
  /** The other files of the directory. */
  files: list(v.object({ path: text, bytes: count, sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)) })),
  /** SHA-256 of the compact JSON of `features` and `span`. */
  digest: v.string(),
  span: v.unknown(),
  features: v.unknown(),
});

const ContentSchema = v.object({ span: SpanSchema, features: FeaturesSchema });

/** The whole document, as it is published; read in two parts, since the digest is of the text and not of the values. */
export const FeaturesFileSchema = v.object({ ...FeaturesDocumentSchema.entries, ...ContentSchema.entries });

/** Features of a run directory, and the digests of the files that they were computed from. */
export interface StoredFeatures {
  readonly horizon: Horizon | null;
  readonly files: readonly ListedFile[];
  readonly span: SampleSpan;
  readonly features: RecordingFeatures;
}

const digestOf = (span: unknown, features: unknown): string =>
  createHash("sha256")
    .update(JSON.stringify([span, features]))
    .digest("hex");

/** JSON keeps neither 64-bit integers nor columns nor maps, and would turn a number that is not finite into null. */
function plain(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Float64Array) return [...value];
  if (value instanceof Map) return [...value];
  if (typeof value === "number" && !Number.isFinite(value)) throw new RangeError(`${value} in the features`);
  return value;
}

/** The text of `features.json`, one line; null where a number is not finite. The same features give the same text. */
export function featuresText({ horizon, files, span, features }: StoredFeatures): string | null {
  let content: { readonly span: unknown; readonly features: unknown };
  try {
    const series = features.series.map((one) => ({ ...one, analysis: withCounts(one.analysis) }));
    content = JSON.parse(JSON.stringify({ span, features: { ...features, series } }, plain));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
  return `${JSON.stringify({
    schema: "stormlog.features/1",
    tool_version: packageVersion(),
    engine: ENGINE,
    analysis_version: ANALYSIS_VERSION,
    horizon,
    files,
    digest: digestOf(content.span, content.features),
    ...content,
  })}\n`;
}

export type FeaturesAnswer =
  | { readonly kind: "read"; readonly stored: StoredFeatures }
  /** Of another release, engine, analysis or schema: to be computed again. */
  | { readonly kind: "other" }
  | { readonly kind: "invalid"; readonly reason: string };

/** Read the text of a `features.json`, which the measured program may have written: every value is checked. */
export function parseFeatures(textOfFile: string): FeaturesAnswer {
  let document: unknown;
  try {
    document = JSON.parse(textOfFile);
  } catch {
    return { kind: "invalid", reason: "it is not valid JSON, cut or damaged" };
  }
  if (!isNestedWithin(document, MAX_NESTING)) return { kind: "invalid", reason: "its values are nested too deeply" };
  const about = v.safeParse(v.object({ schema: v.string() }), document, { abortEarly: true });
  if (about.success && about.output.schema !== "stormlog.features/1") return { kind: "other" };
  const outer = v.safeParse(FeaturesDocumentSchema, document, { abortEarly: true });
  if (!outer.success) return invalid(outer.issues[0]);
  const { tool_version, engine, analysis_version, horizon, files, digest, span, features } = outer.output;
  const same = tool_version === packageVersion() && engine === ENGINE && analysis_version === ANALYSIS_VERSION;
  if (!same) return { kind: "other" };
  if (digestOf(span, features) !== digest) return { kind: "invalid", reason: "its digest differs from its content" };
  const content = v.safeParse(ContentSchema, { span, features }, { abortEarly: true });
  return content.success ? { kind: "read", stored: { horizon, files, ...content.output } } : invalid(content.issues[0]);
}

function invalid(issue: v.BaseIssue<unknown>): FeaturesAnswer {
  return { kind: "invalid", reason: issueText(issue) };
}

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
  const features = extractFeatures(recording, { horizon, phases: [] }, SHARD_LIMITS);
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
