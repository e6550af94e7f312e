import { invalidInput } from "../../core/errors.ts";
import { isObject } from "../../core/json.ts";
import { checkTableCount } from "../../telemetry/recording/input-file.ts";
import {
  emptyRecording,
  type KnownPeak,
  MAX_RANK,
  type Recording,
  type SampleTable,
} from "../../telemetry/recording/model.ts";

/** Source of the numbers: the summary stores the mean of the per-step peaks of its window, not a peak. */
const SOURCE = "TraceML summary, mean of per-step peaks";

/** True for TraceML's `final_summary.json`. */
export function isTraceMlSummary(document: Readonly<Record<string, unknown>>): boolean {
  return (
    isObject(document.step_memory) &&
    "schema_version" in document &&
    ("meta" in document || "primary_diagnosis" in document)
  );
}

function member(value: unknown, ...path: string[]): unknown {
  let at = value;
  for (const key of path) at = isObject(at) ? at[key] : undefined;
  return at;
}

const number = (value: unknown): number => (typeof value === "number" && Number.isFinite(value) ? value : Number.NaN);

/** Of a run without a GPU: the mean resident set of each rank's process. */
function hostTables(
  document: Readonly<Record<string, unknown>>,
  name: string,
  peaks: KnownPeak[],
  missing: Record<string, number>,
): SampleTable[] {
  const rows = member(document.process, "groups", "rows");
  return Object.entries(isObject(rows) ? rows : {}).map(([key, row], index): SampleTable => {
    checkTableCount(index + 1, name);
    const rank = rankOf(key, row, name);
    const bytes = number(member(row, "metrics", "ram_bytes"));
    if (bytes < 0)
      throw invalidInput("NEGATIVE_BYTES", `rank ${rank}, "ram_bytes": a byte count cannot be negative`, name);
    if (Number.isNaN(bytes)) missing.ram_bytes = (missing.ram_bytes ?? 0) + 1;
    else {
      const source = "TraceML summary, mean of the process's resident set";
      peaks.push({ rank, device: "host", metric: "host", bytes: Math.round(bytes), kind: "sampled", source });
    }
    const columns = { host: Float64Array.of(Math.round(bytes)) };
    return { rank, device: "host", timeNs: null, steps: null, columns, highwater: new Set() };
  });
}

/** The rank of a row of a section. @throws GateError RANK_INVALID */
function rankOf(key: string, row: unknown, name: string): number {
  const given = number(member(row, "identity", "global_rank"));
  const rank = Number.isNaN(given) ? Number(key) : given;
  if (!Number.isInteger(rank) || rank < 0 || rank > MAX_RANK)
    throw invalidInput("RANK_INVALID", `row "${key}" is not a rank`, name);
  return rank;
}

/**
 * Step memory of a summary (schema 1.4 on): per rank the mean of its steps' peaks, at the window's last step. Of a
 * run without a GPU: the mean host memory of each rank.
 * @throws GateError INPUT_SCHEMA_VERSION, NEGATIVE_BYTES
 */
export function traceMlRecording(document: Readonly<Record<string, unknown>>, name: string): Recording {
  const version = Number(document.schema_version);
  if (!(version >= 1.4 && version < 2)) {
    throw invalidInput(
      "INPUT_SCHEMA_VERSION",
      `TraceML summary of schema ${JSON.stringify(document.schema_version)} is not supported (supported: 1.4 to 1.x)`,
      name,
    );
  }
  const section = document.step_memory;
  const rows = member(section, "groups", "rows");
  const step = number(member(section, "global", "window", "end_step"));
  const tables: SampleTable[] = [];
  const peaks: KnownPeak[] = [];
  const missing: Record<string, number> = {};
  for (const [key, row] of Object.entries(isObject(rows) ? rows : {})) {
    const rank = rankOf(key, row, name);
    checkTableCount(tables.length + 1, name);
    const table = {
      rank,
      device: `cuda:${number(member(row, "identity", "local_rank")) || 0}`,
      timeNs: null,
      steps: Float64Array.of(step),
      columns: {} as Record<"allocated" | "reserved", Float64Array>,
      highwater: new Set<never>(),
    };
    for (const metric of ["allocated", "reserved"] as const) {
      const field = `peak_${metric}_bytes`;
      const bytes = number(member(row, "metrics", field));
      if (bytes < 0)
        throw invalidInput("NEGATIVE_BYTES", `rank ${rank}, "${field}": a byte count cannot be negative`, name);
      table.columns[metric] = Float64Array.of(Math.round(bytes));
      if (Number.isNaN(bytes)) missing[field] = (missing[field] ?? 0) + 1;
      else {
        const { device } = table;
        peaks.push({ rank, device, metric, bytes: Math.round(bytes), kind: "sampled", source: SOURCE });
      }
    }
    tables.push(table);
  }
  // A CPU run has rows without a value, or none.
  if (peaks.length === 0) {
    const host = hostTables(document, name, peaks, missing);
    if (peaks.length > 0) tables.splice(0, tables.length, ...host);
  }
  if (tables.length === 0) {
    throw invalidInput(
      "INPUT_EMPTY",
      "the TraceML summary contains no step memory",
      name,
      "Was a GPU seen by that run?",
    );
  }
  const worldSize = number(member(document, "meta", "world_size"));
  return {
    ...emptyRecording(tables.sort((a, b) => a.rank - b.rank)),
    peaks,
    worldSize: worldSize >= 1 ? worldSize : null,
    missing,
  };
}
