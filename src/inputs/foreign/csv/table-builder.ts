import { largestOf } from "../../../telemetry/recording/common-clock.ts";
import { GrowableColumn } from "../../../telemetry/recording/growable.ts";
import { isMetric } from "../../../telemetry/recording/metrics.ts";
import type { Column, KnownPeak, SampleTable } from "../../../telemetry/recording/model.ts";

/** One (rank, device) table while rows are read. All columns have the same length after every row. */
export class TableBuilder {
  readonly time: GrowableColumn | null;
  readonly steps: GrowableColumn | null;
  readonly columns: readonly GrowableColumn[];
  readonly rank: number;
  readonly device: string;
  /** Of the previous row, or of the last row with a value. */
  lastTime = Number.NEGATIVE_INFINITY;
  lastStep = Number.NEGATIVE_INFINITY;

  constructor(rank: number, device: string, width: number, hasTime: boolean, hasSteps: boolean) {
    this.rank = rank;
    this.device = device;
    this.time = hasTime ? new GrowableColumn() : null;
    this.steps = hasSteps ? new GrowableColumn() : null;
    this.columns = Array.from({ length: width }, () => new GrowableColumn());
  }
}

/** Position of one input column in the tables. */
export interface ByteColumn {
  readonly column: Column;
  readonly highwater: boolean;
}

const known = (values: Float64Array) => values.some((value) => !Number.isNaN(value));

export interface FinishedTables {
  readonly tables: SampleTable[];
  readonly peaks: KnownPeak[];
}

/**
 * The finished tables, by rank, then by first appearance. A column that is empty in one whole table but not in another
 * is dropped there. A running maximum with a level column becomes a known peak.
 */
export function finishTables(builders: Iterable<TableBuilder>, layout: readonly ByteColumn[]): FinishedTables {
  const taken = [...builders].map((builder) => ({
    rank: builder.rank,
    device: builder.device,
    timeNs: builder.time?.take() ?? null,
    steps: builder.steps?.take() ?? null,
    values: builder.columns.map((column) => column.take()),
  }));
  const usedAnywhere = layout.map((_, i) => taken.some((table) => known(table.values[i]!)));
  const levels = new Set(layout.filter((entry) => !entry.highwater).map((entry) => entry.column));
  const peaks: KnownPeak[] = [];
  const tables = taken.map(({ rank, device, timeNs, steps, values }) => {
    const columns: Partial<Record<Column, Float64Array>> = {};
    const highwater = new Set<Column>();
    for (const [i, entry] of layout.entries()) {
      const { column } = entry;
      const own = values[i]!;
      if (usedAnywhere[i] && !known(own)) continue;
      if (entry.highwater && levels.has(column)) {
        const peak = highwaterPeak(rank, device, column, own);
        if (peak) peaks.push(peak);
        continue;
      }
      columns[column] = own;
      if (entry.highwater) highwater.add(column);
    }
    return { rank, device, timeNs, steps, columns, highwater };
  });
  return { tables: tables.sort((a, b) => a.rank - b.rank), peaks };
}

function highwaterPeak(rank: number, device: string, column: Column, values: Float64Array): KnownPeak | null {
  if (!isMetric(column)) return null;
  const bytes = largestOf(values) ?? -1;
  if (bytes < 0) return null;
  // The file does not contain the origin of a host mark, so the rule for an exact host peak cannot be checked.
  const kind = column === "host" ? "sampled" : "exact";
  return { rank, device, metric: column, bytes, kind, source: `${column}_bytes_highwater` };
}
