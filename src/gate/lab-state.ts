import { readdirSync } from "node:fs";
import path from "node:path";
import { GateError } from "../core/errors.ts";
import { type AnalysisInput, analysisInput } from "./analysis-input.ts";

/** Ends of files that hold telemetry; what `analyze` reads says the content, but a folder also holds notes and pictures. */
const TELEMETRY = /\.(?:json|jsonl|csv|parquet|rec|sqlite|db|pickle|pkl)$/i;
/** TraceML leaves its database beside it: the same run twice. */
const SUMMARY = "final_summary.json";

/** Telemetry files of a folder that is neither a run nor a bundle; several are shards of one run. */
function filesOf(folder: string): readonly string[] {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && TELEMETRY.test(entry.name))
    .map(({ name }) => name)
    .sort();
  return (names.includes(SUMMARY) ? [SUMMARY] : names).map((name) => path.join(folder, name));
}

/**
 * One state of a pattern: a bundle (its newest run), a run directory, anything that `analyze` reads, or a folder with files of that.
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
