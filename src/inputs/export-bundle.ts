import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { assertNever, invalidInput } from "../core/errors.ts";
import { readBundle } from "../report/bundle/bundle.ts";
import { renderJUnit } from "../report/documents/junit.ts";
import { renderSarif } from "../report/documents/sarif.ts";
import { readTelemetry } from "../telemetry/read.ts";
import type { Recording, SampleTable } from "../telemetry/recording/model.ts";

export const EXPORT_FORMATS = ["csv", "json", "parquet", "junit", "sarif", "html", "png"] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

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

async function csv(bundle: string): Promise<Exported> {
  const telemetry = await readTelemetry(bundle);
  const runs =
    telemetry.kind === "runs"
      ? telemetry.runs
      : telemetry.kind === "recording"
        ? [{ name: path.basename(bundle), recording: telemetry.recording }]
        : [];
  const newest = runs.at(-1);
  if (newest === undefined) throw invalidInput("INPUT_EMPTY", `${bundle} holds no samples`, bundle);
  const text = `${csvRows(newest.name, newest.recording).join("\n")}\n`;
  return { bytes: encoder.encode(text), note: noteOf(newest.name, runs.length) };
}

/** A file of the bundle as it is. */
function fileOf(bundle: string, name: string): Exported {
  const file = path.join(bundle, name);
  if (!existsSync(file)) throw invalidInput("INPUT_NOT_FOUND", `${bundle} has no ${name}`, file);
  return { bytes: readFileSync(file), note: null };
}

function text(bytes: string): Exported {
  return { bytes: encoder.encode(bytes), note: null };
}

/** The candidate's newest samples. A bundle has one file per run. */
function newestParquet(bundle: string): Exported {
  if (!existsSync(bundle)) throw invalidInput("INPUT_NOT_FOUND", `${bundle} does not exist`, bundle);
  const files = readdirSync(bundle, { recursive: true, encoding: "utf8" }).filter(
    (name) => path.basename(name) === "samples.parquet",
  );
  const isBase = (file: string): boolean => /^base-\d+$/.test(path.basename(path.dirname(file)));
  const own = files.some((file) => !isBase(file)) ? files.filter((file) => !isBase(file)) : files;
  const newest = own.sort(new Intl.Collator("en", { numeric: true }).compare).at(-1);
  if (newest === undefined) throw invalidInput("INPUT_NOT_FOUND", `${bundle} has no samples.parquet`, bundle);
  return { ...fileOf(bundle, newest), note: noteOf(path.dirname(newest), own.length) };
}

/** A bundle in another format, as bytes. @throws GateError INPUT_… (exit 5) */
export async function exportBundle(bundle: string, format: ExportFormat): Promise<Exported> {
  switch (format) {
    case "csv":
      return csv(bundle);
    case "json":
      return fileOf(bundle, "report.json");
    case "parquet":
      return newestParquet(bundle);
    case "junit":
      return text(renderJUnit((await readBundle(bundle)).report));
    case "sarif":
      return text(renderSarif((await readBundle(bundle)).report));
    case "html":
      return fileOf(bundle, "timeline.html");
    case "png":
      return fileOf(bundle, "timeline.png");
    default:
      return assertNever(format);
  }
}
