import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { GateError } from "../core/errors.ts";
import { type AnalysisInput, analysisInput } from "../inputs/analysis-input.ts";

/**
 * Ends of files that hold telemetry; what `analyze` reads says the content, but a directory also holds notes and
 * pictures.
 */
const TELEMETRY = /\.(?:json|jsonl|csv|parquet|rec|sqlite|db|pickle|pkl)$/i;
/** TraceML leaves its database beside it: the same run twice. */
const SUMMARY = "final_summary.json";

/** Whether a file's name says that it holds telemetry. */
export const isTelemetry = (file: string): boolean => TELEMETRY.test(file);

/** Whether a place is a directory, or a link to one. A link that leads nowhere is not: reading it will tell. */
export function isDirectory(place: string): boolean {
  try {
    return statSync(place).isDirectory();
  } catch {
    return false;
  }
}

/** Telemetry files of a directory that is neither a run nor a bundle; several are shards of one run. */
function filesOf(directory: string): readonly string[] {
  const names = readdirSync(directory)
    .filter((name) => isTelemetry(name) && !isDirectory(path.join(directory, name)))
    .sort();
  return (names.includes(SUMMARY) ? [SUMMARY] : names).map((name) => path.join(directory, name));
}

/**
 * One state of a pattern: a bundle (its newest run), a run directory, anything that `analyze` reads, or a directory
 * with files of that.
 * @throws GateError INPUT_…, RANK_CLASH (exit 5)
 */
export async function stateInput(place: string): Promise<AnalysisInput> {
  try {
    return await analysisInput([place]);
  } catch (error) {
    if (!(error instanceof GateError) || error.code !== "INPUT_IS_DIRECTORY") throw error;
    const files = filesOf(place);
    if (files.length === 0) throw error;
    return analysisInput(files);
  }
}
