import { invalidInput } from "../../core/errors.ts";
import { isObject } from "../../core/json.ts";
import { checkTableCount } from "../../telemetry/recording/input-file.ts";
import type { Metric } from "../../telemetry/recording/metrics.ts";
import {
  type Column,
  emptyRecording,
  type KnownPeak,
  MAX_RANK,
  type Recording,
  type SampleTable,
} from "../../telemetry/recording/model.ts";

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

/** The rows of one section as tables. The summary stores means over its window, not peaks. */
class SummaryTables {
  readonly peaks: KnownPeak[] = [];
  readonly missing: Record<string, number> = {};
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  /** @param fields names of the values by metric */
  tables<Name extends Metric>(
    section: unknown,
    steps: SampleTable["steps"],
    source: string,
    fields: Readonly<Record<Name, string>>,
  ): SampleTable[] {
    const rows = member(section, "groups", "rows");
    return Object.entries(isObject(rows) ? rows : {}).map(([key, row], index): SampleTable => {
      checkTableCount(index + 1, this.#name);
      const rank = rankOf(key, row, this.#name);
      const device = "host" in fields ? "host" : `cuda:${number(member(row, "identity", "local_rank")) || 0}`;
      const columns: Partial<Record<Column, Float64Array>> = {};
      for (const [metric, field] of Object.entries(fields) as [Name, string][]) {
        const bytes = Math.round(number(member(row, "metrics", field)));
        if (bytes < 0)
          throw invalidInput("NEGATIVE_BYTES", `rank ${rank}, "${field}": a byte count cannot be negative`, this.#name);
        columns[metric] = Float64Array.of(bytes);
        if (Number.isNaN(bytes)) this.missing[field] = (this.missing[field] ?? 0) + 1;
        else this.peaks.push({ rank, device, metric, bytes, kind: "sampled", source });
      }
      return { rank, device, timeNs: null, steps, columns, highwater: new Set() };
    });
  }
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
  const step = Float64Array.of(number(member(document.step_memory, "global", "window", "end_step")));
  const read = new SummaryTables(name);
  const stepPeaks = { allocated: "peak_allocated_bytes", reserved: "peak_reserved_bytes" };
  let tables = read.tables(document.step_memory, step, "TraceML summary, mean of per-step peaks", stepPeaks);
  // A CPU run has rows without a value, or none.
  if (read.peaks.length === 0) {
    const source = "TraceML summary, mean of the process's resident set";
    const host = read.tables(document.process, null, source, { host: "ram_bytes" });
    if (read.peaks.length > 0) tables = host;
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
    peaks: read.peaks,
    worldSize: worldSize >= 1 ? worldSize : null,
    missing: read.missing,
  };
}
