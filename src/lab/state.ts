import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { GateError } from "../core/errors.ts";
import { type AnalysisInput, analysisInput } from "../inputs/analysis-input.ts";

/** Endings of telemetry files. A directory also contains notes and pictures, which are not read. */
const TELEMETRY = /\.(?:json|jsonl|csv|parquet|rec|sqlite|db|pickle|pkl)$/i;
/** TraceML's database beside it contains the same run. */
const SUMMARY = "final_summary.json";

/** Whether a file's name has the ending of telemetry. */
export const isTelemetry = (file: string): boolean => TELEMETRY.test(file);

/** Whether a path is a directory or a link to one. A dangling link is not: reading it reports the error. */
export function isDirectory(location: string): boolean {
  try {
    return statSync(location).isDirectory();
  } catch {
    return false;
  }
}

/** Telemetry files of a directory that is neither a run nor a bundle. Several are shards of one run. */
function filesOf(directory: string): readonly string[] {
  const names = readdirSync(directory)
    .filter((name) => isTelemetry(name) && !isDirectory(path.join(directory, name)))
    .sort();
  return (names.includes(SUMMARY) ? [SUMMARY] : names).map((name) => path.join(directory, name));
}

/** A bundle (newest run), run directory, input of `analyze`, or directory of them. @throws INPUT_…, RANK_CLASH */
export async function stateInput(location: string): Promise<AnalysisInput> {
  try {
    return await analysisInput([location]);
  } catch (error) {
    if (!(error instanceof GateError) || error.code !== "INPUT_IS_DIRECTORY") throw error;
    const files = filesOf(location);
    if (files.length === 0) throw error;
    return analysisInput(files);
  }
}
