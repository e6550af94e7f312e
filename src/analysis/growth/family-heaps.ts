import type { SampleTable } from "../../telemetry/recording/model.ts";
import type { AnalysisDocument } from "../series/document.ts";
import type { MetricSeries } from "../series/series.ts";
import { analyseSeries } from "./series-analysis.ts";

/**
 * What the heaps of all processes of a rank use together, as `allocated`, and take of the host, as `reserved`: the
 * series of these metrics are those of its main process. Known where no heap is one that a collector empties.
 */
export function familyHeaps(tables: readonly SampleTable[]): NonNullable<AnalysisDocument["heaps"]> {
  if (tables.some(({ columns }) => columns.outside_heap ?? columns.js_heap ?? columns.jvm_heap)) return [];
  return tables.flatMap(({ rank, device, timeNs, columns: { heap_used: used, heap_kept: kept } }) => {
    if (used === undefined || kept === undefined) return [];
    const of = (metric: MetricSeries["metric"], bytes: Float64Array) => {
      const series = { rank, device, metric, timeNs, bytes, steps: null, totalBytes: null, thinned: false };
      return analyseSeries({ ...series, highwater: false }, { peaks: new Map(), horizon: null }).analysis;
    };
    return [
      of("allocated", used),
      of(
        "reserved",
        used.map((bytes, i) => bytes + kept[i]!),
      ),
    ];
  });
}
