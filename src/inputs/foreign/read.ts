import { type GateError, invalidInput } from "../../core/errors.ts";
import { readTail } from "../../core/files.ts";
import { readParquet } from "../../telemetry/formats/parquet.ts";
import { isRecordFile, readRecordFile } from "../../telemetry/reading/record-file.ts";
import { dataLossNotes, recordFileToRecording } from "../../telemetry/reading/record-recording.ts";
import {
  readChunks,
  readHead,
  refuseCompressed,
  SQLITE_MAGIC,
  statInput,
} from "../../telemetry/recording/input-file.ts";
import { METRICS } from "../../telemetry/recording/metrics.ts";
import type { Recording, Telemetry } from "../../telemetry/recording/model.ts";
import { isGenericHeader, isGpuLogHeader, isNvidiaSmiHeader } from "./csv/dialects.ts";
import { detectDelimiter, scanCsv, utf16Encoding } from "./csv/scan.ts";
import { parseGenericCsv, parseNvidiaSmiCsv } from "./delimited.ts";
import { readDirectory } from "./read-directory.ts";
import { readJsonTelemetry } from "./read-json.ts";
import { isEventHeader, readCsvEvents } from "./stormlog/event-source.ts";
import { eventsTelemetry } from "./stormlog/events-recording.ts";
import { readTraceMlDatabase } from "./traceml-sqlite.ts";

const startsWith = (head: Buffer, text: string) => head.toString("latin1", 0, text.length) === text;

/** Binary formats that are recognised but not telemetry, each with the next step. */
function refuseBinary(head: Uint8Array, path: string): void {
  if (head[0] === 0x80 && (head[1] ?? 0) >= 2 && (head[1] ?? 0) <= 5) {
    throw invalidInput(
      "SNAPSHOT_UNSUPPORTED",
      "a memory snapshot of PyTorch is not telemetry of a run",
      path,
      "`stormlog-gate snapshot` and `analyze` read it.",
    );
  }
  refuseCompressed(head, path);
}

function unknown(path: string, what: string): GateError {
  return invalidInput(
    "INPUT_UNKNOWN_FORMAT",
    what,
    path,
    "Supported: recordings and bundles, Stormlog events (JSON, JSONL, CSV), nvidia-smi CSV, TraceML summaries and " +
      "databases, and CSV with a header such as time_s,allocated_bytes.",
  );
}

/** First row of a text as CSV, with its separator. */
function headerOf(text: string): { header: string[]; delimiter: string } {
  const line = text.split(/\r?\n/).find((candidate) => candidate.trim() !== "") ?? "";
  const delimiter = detectDelimiter(line);
  const header: string[] = [];
  scanCsv([Buffer.from(`${line}\n`)], delimiter, "", (row) => {
    for (let i = 0; i < row.count; i++) header.push(row.text(i));
  });
  return { header, delimiter };
}

/** Marks both ends of a Parquet file. A file without the second one is truncated. */
function endsWithMagic(path: string): boolean {
  return readTail(path, 4).toString("latin1") === "PAR1";
}

function readText(path: string, head: Buffer): Telemetry {
  const encoding = utf16Encoding(head);
  const text = (encoding ? new TextDecoder(encoding).decode(head) : head.toString("utf8")).replace(/^\ufeff/, "");
  const trimmed = text.trimStart();
  if (trimmed === "") {
    throw invalidInput("INPUT_EMPTY", "the file contains only white space", path, "Was anything recorded?");
  }
  if (trimmed.startsWith("{") || trimmed.startsWith("[")) return readJsonTelemetry(path);
  if (encoding === null && head.includes(0)) throw unknown(path, "the file is binary and its format is unknown");
  const { header, delimiter } = headerOf(text);
  if (isEventHeader(header)) {
    return { format: "stormlog-csv", ...eventsTelemetry(readCsvEvents(readChunks(path), delimiter, path), path) };
  }
  if (isNvidiaSmiHeader(header)) {
    return { kind: "recording", format: "nvidia-smi-csv", ...parseNvidiaSmiCsv(readChunks(path), delimiter, path) };
  }
  if (isGenericHeader(header)) {
    return { kind: "recording", format: "csv", ...parseGenericCsv(readChunks(path), delimiter, path) };
  }
  if (isGpuLogHeader(header)) {
    return { kind: "recording", format: "gpu-log-csv", ...parseNvidiaSmiCsv(readChunks(path), delimiter, path) };
  }
  const names = header.slice(0, 12).map((field) => JSON.stringify(field.slice(0, 40)));
  throw unknown(path, `the first line names no memory column (${names.join(", ")})`);
}

async function readFile(path: string): Promise<Telemetry> {
  const head = readHead(path, 64 << 10);
  if (isRecordFile(head)) {
    const file = await readRecordFile(path);
    const recording = recordFileToRecording(file, null);
    return { kind: "recording", format: "record-file", recording, notes: dataLossNotes(file) };
  }
  if (startsWith(head, "PAR1")) {
    if (!endsWithMagic(path)) {
      throw invalidInput(
        "INPUT_TRUNCATED",
        "the Parquet file is truncated: its end is missing",
        path,
        "Copy it again.",
      );
    }
    return { kind: "recording", format: "parquet", recording: await readParquet(path), notes: [] };
  }
  if (startsWith(head, SQLITE_MAGIC)) {
    return { kind: "recording", format: "traceml-sqlite", ...(await readTraceMlDatabase(path)) };
  }
  refuseBinary(head, path);
  return readText(path, head);
}

/** Series that any file may contain; each needs a few kilobytes while it is analysed, whatever its length. */
const MAX_SHORT_SERIES = 16_384;
/** Rows for which a file may contain one more: ranks by the ten thousand have samples, or the file is not telemetry. */
const ROWS_PER_SERIES = 8;

/** @throws GateError INPUT_TOO_LARGE for more series than the rows of the file can be telemetry of */
function checkSeriesCount({ tables }: Recording, path: string): void {
  let [series, rows] = [0, 0];
  for (const table of tables) {
    const columns = METRICS.flatMap((metric) => table.columns[metric] ?? []);
    series += columns.length;
    rows += columns[0]?.length ?? 0;
  }
  if (series <= MAX_SHORT_SERIES + rows / ROWS_PER_SERIES) return;
  throw invalidInput(
    "INPUT_TOO_LARGE",
    `the file contains ${series} series in ${rows} rows, too few to analyze so many ranks and devices`,
    path,
    "Record more samples of each, or split the file by rank.",
  );
}

/**
 * Reads any recorded memory, by content. Measurement and baseline documents are returned unchanged.
 * @throws GateError (invalid input, exit 5) INPUT_NOT_FOUND, INPUT_NO_PERMISSION, INPUT_IS_DIRECTORY, INPUT_NOT_A_FILE,
 *   INPUT_EMPTY, INPUT_TRUNCATED, INPUT_MALFORMED, INPUT_UNKNOWN_FORMAT, INPUT_SCHEMA_VERSION, INPUT_TOO_LARGE,
 *   NEGATIVE_BYTES and the codes of the readers
 */
export async function readTelemetry(path: string): Promise<Telemetry> {
  const stats = statInput(path);
  if (stats.isDirectory()) return readDirectory(path);
  if (!stats.isFile()) {
    throw invalidInput("INPUT_NOT_A_FILE", "not a regular file", path, "Write the data to a file first.");
  }
  if (stats.size === 0) throw invalidInput("INPUT_EMPTY", "the file is empty", path, "Was anything recorded?");
  const telemetry = await readFile(path);
  if (telemetry.kind === "recording") checkSeriesCount(telemetry.recording, path);
  return telemetry;
}
