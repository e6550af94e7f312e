import path from "node:path";
import * as v from "valibot";
import { invalidInput, messageOf } from "../../core/errors.ts";
import { readBounded } from "../../core/files.ts";
import { issueText } from "../../core/issue-text.ts";
import { fileError } from "./input-file.ts";
import { METRICS } from "./metrics.ts";
import { ofKnownMetric, type RecordingInfo, skippedText, unknownMetrics } from "./model.ts";
import { OutOfMemorySchema } from "./out-of-memory.ts";
import { RecordedDeviceSchema } from "./recorded-device.ts";

/** Name of the document that describes a run, in its run directory. */
export const RECORDING_FILE = "recording.json";
/** Directory of the probe's files in a run directory. */
export const PROBE_FOLDER = "probe";
/** Far above the description of a run with thousands of processes. */
const MAX_BYTES = 64 * 1024 * 1024;

const nullable = <T extends v.GenericSchema>(schema: T) => v.nullable(schema);
const digits = v.pipe(v.string(), v.regex(/^-?\d{1,20}$/));
const count = v.pipe(v.number(), v.integer(), v.minValue(0));

const ExitSchema = v.variant("kind", [
  v.object({ kind: v.literal("running") }),
  v.object({ kind: v.literal("exited"), code: v.number() }),
  v.object({ kind: v.literal("signaled"), signal: v.string() }),
  v.object({ kind: v.literal("timeout"), after_s: v.number() }),
  v.object({ kind: v.literal("interrupted"), signal: v.string() }),
  v.object({ kind: v.literal("not-started"), code: v.string(), message: v.string() }),
]);

const PeakSchema = v.object({
  rank: count,
  device: v.string(),
  metric: v.picklist(METRICS),
  bytes: v.number(),
  kind: v.picklist(["exact", "sampled"]),
  source: v.string(),
});

const ProbeSchema = v.object({
  processes: v.array(
    v.object({
      pid: count,
      parent: nullable(v.number()),
      rank: nullable(count),
      local_rank: nullable(count),
      world_size: nullable(count),
      role: v.picklist(["plain", "rank", "agent", "child"]),
      framework: nullable(v.string()),
      versions: v.record(v.string(), v.string()),
      python: nullable(v.string()),
      heap: nullable(v.string()),
      python_heap: v.optional(nullable(v.string())),
      allocator_conf: nullable(v.string()),
      steps_from: nullable(v.string()),
      devices: v.array(
        v.object({
          own_name: v.string(),
          name: v.string(),
          model: nullable(v.string()),
          uuid: nullable(v.string()),
          total_bytes: nullable(v.number()),
          driver_index: nullable(count),
        }),
      ),
      error: nullable(v.string()),
      phases: v.optional(v.array(v.object({ name: v.string(), began_ns: v.number(), ended_ns: nullable(v.number()) }))),
      phases_dropped: v.optional(count),
    }),
  ),
  processes_total: count,
});

/** `recording.json`, version 1. Unknown keys are ignored, so that a later minor release may add some. */
export const RecordingInfoSchema = v.object({
  schema: v.literal("stormlog.recording/1"),
  complete: v.boolean(),
  scenario: v.string(),
  run: count,
  session: v.string(),
  commit: nullable(v.string()),
  command: v.object({ argv: v.array(v.string()), shell: v.boolean(), cwd: v.string() }),
  exit: ExitSchema,
  clock: v.object({ monotonic_start_ns: digits, epoch_ns: digits, duration_s: nullable(v.number()) }),
  identity: v.object({
    rank: count,
    local_rank: count,
    world_size: v.pipe(count, v.minValue(1)),
    job_id: nullable(v.string()),
    host: v.string(),
    pid: v.number(),
  }),
  fingerprint: v.record(v.string(), v.union([v.string(), v.number(), v.null()])),
  sampler: v.object({
    kind: v.picklist(["native", "fallback"]),
    reason: nullable(v.string()),
    host_period_ns: v.number(),
    device_period_ns: v.number(),
    host_rate_hz: nullable(v.number()),
    device_rate_hz: nullable(v.number()),
    ticks: nullable(v.number()),
    missed_ticks: nullable(v.number()),
    cpu_s: nullable(v.number()),
    cpu_budget_percent: nullable(v.number()),
  }),
  sources: v.array(
    v.object({
      name: v.string(),
      available: v.boolean(),
      reason: nullable(v.string()),
      capabilities: v.array(v.string()),
    }),
  ),
  peaks: v.array(PeakSchema),
  output: nullable(v.object({ bytes: v.number(), kept_bytes: v.number() })),
  lost: v.array(v.string()),
  cut: v.optional(v.array(v.object({ rank: count, device: v.string(), metric: v.picklist(METRICS) }))),
  probe: v.optional(ProbeSchema),
  oom: v.optional(OutOfMemorySchema),
  devices: v.optional(v.array(RecordedDeviceSchema)),
});

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
  let bytes: Buffer;
  try {
    bytes = readBounded(file, MAX_BYTES);
  } catch (error) {
    throw fileError(error, file);
  }
  return { info: parseRecordingInfo(bytes.toString("utf8"), file), bytes };
}

/** `recording.json` of a run directory. @throws GateError as {@link readRecordingFile} */
export const readRecordingInfo = (directory: string): RecordingInfo => readRecordingFile(directory).info;
