/** Reads one file and analyses it, in a separate process to measure its memory alone. Prints one line of JSON. */
import { statSync } from "node:fs";
import { analyze } from "../../src/analysis/analyze.ts";
import { readTelemetry } from "../../src/inputs/foreign/read.ts";
import { columnBytes } from "./recording.ts";

export interface FileResult {
  readonly fileBytes: number;
  /** Values of all byte columns; clocks and steps are not counted. */
  readonly values: number;
  readonly columnBytes: number;
  readonly readMs: number;
  readonly analyzeMs: number;
  /** CPU of the process for both, its compiler and collector threads included. */
  readonly cpuMs: number;
  /** Largest resident set of the process, runtime included. */
  readonly residentPeak: number;
  readonly classes: string;
}

const path = process.argv[2] ?? "";
const cpu = process.cpuUsage();
const start = performance.now();
const telemetry = await readTelemetry(path);
if (telemetry.kind !== "recording") throw new Error(`${path} holds no recording`);
const read = performance.now();
const document = analyze(telemetry.recording);
const end = performance.now();
const { user, system } = process.cpuUsage(cpu);
const columns = telemetry.recording.tables.flatMap((table) => Object.values(table.columns));
const result: FileResult = {
  fileBytes: statSync(path).size,
  values: columns.reduce((sum, column) => sum + column.length, 0),
  columnBytes: columnBytes(telemetry.recording),
  readMs: read - start,
  analyzeMs: end - read,
  cpuMs: (user + system) / 1000,
  residentPeak: process.resourceUsage().maxRSS * 1024,
  classes: [...new Set(document.series.map((series) => `${series.metric} ${series.class}`))].sort().join(", "),
};
console.log(JSON.stringify(result));
