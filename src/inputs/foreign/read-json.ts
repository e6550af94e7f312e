import { invalidInput } from "../../core/errors.ts";
import { isObject } from "../../core/json.ts";
import { readChunks } from "../../telemetry/recording/input-file.ts";
import type { Telemetry } from "../../telemetry/recording/model.ts";
import { looksLikeEvent, readJsonEvents } from "./stormlog/event-source.ts";
import { eventsTelemetry } from "./stormlog/events-recording.ts";
import { type JsonText, jsonValues, parseJson } from "./stormlog/json-values.ts";
import { isTraceMlSummary, traceMlRecording } from "./traceml.ts";

const MEASUREMENTS = "stormlog.measurements";
const BASELINE = "stormlog.baseline";

/** A document of ours by its `schema`, null for an unknown one. */
function ownDocument(document: Readonly<Record<string, unknown>>, path: string): Telemetry | null {
  const { schema } = document;
  if (typeof schema !== "string") return null;
  if (schema === `${MEASUREMENTS}/1`) return { kind: "measurements", document };
  if (schema === `${BASELINE}/1`) return { kind: "baseline", document };
  const [name, version] = schema.split("/");
  if ((name === MEASUREMENTS || name === BASELINE) && version !== "1") {
    throw invalidInput(
      "INPUT_SCHEMA_VERSION",
      `schema ${JSON.stringify(schema.slice(0, 80))} is not supported (supported: version 1)`,
      path,
      "Use the stormlog-gate that wrote it, or a newer one.",
    );
  }
  throw invalidInput(
    "INPUT_UNKNOWN_FORMAT",
    `a document of schema ${JSON.stringify(schema.slice(0, 80))} does not contain samples`,
    path,
    "Name the run directory, the bundle or the file with the samples.",
  );
}

/** Recognises a JSON file of one object. Null for telemetry events and unknown objects. */
function documentOf(document: Readonly<Record<string, unknown>>, path: string): Telemetry | null {
  const own = ownDocument(document, path);
  if (own) return own;
  if (isTraceMlSummary(document)) {
    const notes = ["TraceML stores the mean of the per-step peaks, not the series, so growth cannot be judged"];
    return { kind: "recording", format: "traceml-summary", recording: traceMlRecording(document, path), notes };
  }
  if (Array.isArray(document.traceEvents)) {
    throw invalidInput(
      "TRACE_UNSUPPORTED",
      "a profiler's trace is not telemetry of a run",
      path,
      "Measure the program: `stormlog-gate record -- COMMAND`. Or give `stormlog-gate snapshot` a memory snapshot.",
    );
  }
  if (Array.isArray(document.segments) && ("device_traces" in document || "allocator_settings" in document)) {
    throw invalidInput(
      "SNAPSHOT_UNSUPPORTED",
      "a memory snapshot of PyTorch is read as the pickle it was dumped as, not as JSON",
      path,
      "Give the .pickle file to `stormlog-gate snapshot`.",
    );
  }
  return null;
}

function* chained(first: JsonText | null, rest: Iterable<JsonText>): Generator<JsonText> {
  if (first) yield first;
  yield* rest;
}

/**
 * Reads a JSON file: telemetry events, a document of ours, a TraceML summary.
 * @throws GateError INPUT_UNKNOWN_FORMAT, INPUT_SCHEMA_VERSION, INPUT_EMPTY, INPUT_TRUNCATED, INPUT_MALFORMED, others
 */
export function readJsonTelemetry(path: string): Telemetry {
  const values = jsonValues(readChunks(path), path);
  try {
    return telemetryOf(values, path);
  } finally {
    // A generator that is left before its end keeps the file open.
    values.return();
  }
}

function telemetryOf(values: Generator<JsonText, void, undefined>, path: string): Telemetry {
  const next = values.next();
  const first = next.done ? null : next.value;
  if (first && !first.element) {
    const document = parseJson(first.text, path);
    if (isObject(document)) {
      const known = documentOf(document, path);
      if (known) return known;
      if (!Array.isArray(document.events) && !looksLikeEvent(document)) {
        throw invalidInput(
          "INPUT_UNKNOWN_FORMAT",
          "JSON payload does not contain telemetry events",
          path,
          "Expected an array of events, an object with an events list, one event per line, or a stormlog-gate document.",
        );
      }
    }
  }
  return { format: "stormlog-json", ...eventsTelemetry(readJsonEvents(chained(first, values), path), path) };
}
