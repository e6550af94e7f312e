import path from "node:path";
import * as v from "valibot";
import { invalidInput, messageOf } from "../../core/errors.ts";
import { readBounded } from "../../core/files.ts";
import { issueText } from "../../core/issue-text.ts";
import { withFileErrors } from "./input-file.ts";
import { ofKnownMetric, type RecordingInfo, skippedText, unknownMetrics } from "./model.ts";
import { RecordingInfoSchema } from "./recording-schema.ts";
import { RECORDING_FILE } from "./run-files.ts";

const Named = v.array(v.looseObject({ metric: v.string() }));
const NamedMetrics = v.looseObject({ peaks: Named, cut: v.optional(Named), lost: v.array(v.string()) });

/** A document without peaks and cut series of a later version, which `lost` then lists. */
function withoutUnknown(document: unknown): unknown {
  const found = v.safeParse(NamedMetrics, document);
  if (!found.success) return document;
  const { peaks, cut, lost } = found.output;
  const unknown = unknownMetrics([...peaks, ...(cut ?? [])].map(({ metric }) => metric));
  return {
    ...found.output,
    peaks: ofKnownMetric(peaks),
    ...(cut === undefined ? {} : { cut: ofKnownMetric(cut) }),
    lost: [...lost, ...unknown.map((name) => skippedText("the recording", name))],
  };
}

/**
 * Validates the text of a `recording.json`.
 * @throws GateError INPUT_EMPTY, INPUT_TRUNCATED, INPUT_SCHEMA_VERSION, RECORDING_INVALID
 */
export function parseRecordingInfo(text: string, where: string): RecordingInfo {
  if (text.trim() === "") throw invalidInput("INPUT_EMPTY", "the file is empty", where);
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw invalidInput("INPUT_TRUNCATED", `not valid JSON, cut or damaged (${messageOf(error)})`, where);
  }
  const schema = v.safeParse(v.object({ schema: v.string() }), document);
  if (schema.success && schema.output.schema !== "stormlog.recording/1") {
    throw invalidInput(
      "INPUT_SCHEMA_VERSION",
      `unsupported schema "${schema.output.schema}" (supported: "stormlog.recording/1")`,
      where,
      "Use the stormlog-gate that wrote it, or a newer one.",
    );
  }
  const parsed = v.safeParse(RecordingInfoSchema, withoutUnknown(document), { abortEarly: true });
  if (parsed.success) return parsed.output;
  throw invalidInput("RECORDING_INVALID", issueText(parsed.issues[0]), where);
}

/**
 * `recording.json` of a run directory, and its bytes.
 * @throws GateError INPUT_NOT_FOUND, INPUT_NO_PERMISSION, and those of {@link parseRecordingInfo}
 */
export function readRecordingFile(directory: string): { readonly info: RecordingInfo; readonly bytes: Buffer } {
  const file = path.join(directory, RECORDING_FILE);
  // Far above the description of a run with thousands of processes.
  const bytes = withFileErrors(file, () => readBounded(file, 64 * 1024 * 1024));
  return { info: parseRecordingInfo(bytes.toString("utf8"), file), bytes };
}

/** `recording.json` of a run directory. @throws GateError as {@link readRecordingFile} */
export const readRecordingInfo = (directory: string): RecordingInfo => readRecordingFile(directory).info;
