import { existsSync } from "node:fs";
import path from "node:path";
import { assertNever, invalidInput } from "../core/errors.ts";
import { readBounded } from "../core/files.ts";
import { treeBelow } from "../core/tree.ts";
import { readBundle } from "../report/bundle/read-bundle.ts";
import { renderJUnit } from "../report/documents/junit.ts";
import { renderSarif } from "../report/documents/sarif.ts";
import type { GateReport } from "../report/model/gate-report.ts";
import { telemetryEvents } from "../telemetry/formats/stormlog/sample-events.ts";
import { eventsCsv } from "../telemetry/formats/stormlog/serialize.ts";
import { withFileErrors } from "../telemetry/recording/input-file.ts";
import type { Recording, SampleTable } from "../telemetry/recording/model.ts";
import type { ExportFormat } from "./export-format.ts";
import { readInput } from "./telemetry-input.ts";
import { NOT_VERIFIED, verifiedFile } from "./verified-bundle.ts";

export interface Exported {
  readonly bytes: Uint8Array;
  /** The run that the file contains, where the bundle has several. */
  readonly note: string | null;
}

const encoder = new TextEncoder();

/** Rows of all tables of one run, one line per sample, with the column names of the generic CSV reader. */
function csvRows(run: string, recording: Recording): string[] {
  const columns = [...new Set(recording.tables.flatMap(({ columns }) => Object.keys(columns)))].sort();
  const stepped = recording.tables.some(({ steps }) => steps !== null);
  const cell = (value: number | undefined): string => (value === undefined || Number.isNaN(value) ? "" : String(value));
  const row = (table: SampleTable, index: number): string =>
    [
      `"${run.replaceAll('"', '""')}"`,
      table.rank,
      table.device,
      cell((table.timeNs?.[index] ?? Number.NaN) / 1e9),
      ...(stepped ? [cell(table.steps?.[index])] : []),
      ...columns.map((name) => cell(table.columns[name as keyof SampleTable["columns"]]?.[index])),
    ].join(",");
  const lines = recording.tables.flatMap((table) => {
    const length = table.timeNs?.length ?? Object.values(table.columns)[0]?.length ?? 0;
    return Array.from({ length }, (_, index) => row(table, index));
  });
  return [
    [
      "run",
      "rank",
      "device",
      "time_s",
      ...(stepped ? ["step"] : []),
      ...columns.map((name) => (name === "processes" ? name : `${name}_bytes`)),
    ].join(","),
    ...lines,
  ];
}

/** A note for a format that contains one of several runs. */
function noteOf(shown: string, runs: number): string | null {
  return runs > 1 ? `the bundle holds ${runs} runs; this is ${shown}` : null;
}

/** The newest run of a bundle as text. */
async function newestRun(bundle: string, write: (name: string, recording: Recording) => string): Promise<Exported> {
  const telemetry = await readInput(bundle);
  const runs =
    telemetry.kind === "runs"
      ? telemetry.runs
      : telemetry.kind === "recording"
        ? [{ name: path.basename(bundle), recording: telemetry.recording }]
        : [];
  const newest = runs.at(-1);
  if (newest === undefined) throw invalidInput("INPUT_EMPTY", `${bundle} holds no samples`, bundle);
  const unread = "notes" in telemetry ? telemetry.notes.find((note) => note.includes(NOT_VERIFIED)) : undefined;
  return {
    bytes: encoder.encode(write(newest.name, newest.recording)),
    note: unread ?? noteOf(newest.name, runs.length),
  };
}

/** A file of the bundle as it is. */
async function fileOf(bundle: string, name: string): Promise<Exported> {
  const { file, note } = await verifiedFile(bundle, name);
  // Far above a run of a day at full rate.
  return { bytes: withFileErrors(file, () => readBounded(file, 2 ** 31)), note };
}

async function reportAs(bundle: string, render: (report: GateReport) => string): Promise<Exported> {
  const { report, note } = await readBundle(bundle);
  return { bytes: encoder.encode(render(report)), note };
}

/** The candidate's newest samples. A bundle has one file per run. */
async function newestParquet(bundle: string): Promise<Exported> {
  if (!existsSync(bundle)) throw invalidInput("INPUT_NOT_FOUND", `${bundle} does not exist`, bundle);
  const files = treeBelow(bundle)
    .entries.map((entry) => entry.path)
    .filter((name) => path.basename(name) === "samples.parquet");
  const candidates = files.filter((file) => !/^(?:base|attribution)-\d+$/.test(path.basename(path.dirname(file))));
  const own = candidates.length > 0 ? candidates : files;
  const newest = own.sort(new Intl.Collator("en", { numeric: true }).compare).at(-1);
  if (newest === undefined) throw invalidInput("INPUT_NOT_FOUND", `${bundle} has no samples.parquet`, bundle);
  const { bytes, note } = await fileOf(bundle, newest);
  return { bytes, note: note ?? noteOf(path.dirname(newest), own.length) };
}

/** A bundle in another format, as bytes. @throws GateError INPUT_… (exit 5) */
export async function exportBundle(bundle: string, format: ExportFormat): Promise<Exported> {
  switch (format) {
    case "csv":
      return newestRun(bundle, (name, recording) => `${csvRows(name, recording).join("\n")}\n`);
    case "events-csv":
      return newestRun(bundle, (_, recording) => eventsCsv(telemetryEvents(recording)));
    case "json":
      return fileOf(bundle, "report.json");
    case "parquet":
      return newestParquet(bundle);
    case "junit":
      return reportAs(bundle, renderJUnit);
    case "sarif":
      return reportAs(bundle, renderSarif);
    case "html":
      return fileOf(bundle, "timeline.html");
    case "png":
      return fileOf(bundle, "timeline.png");
    default:
      return assertNever(format);
  }
}
