import { COUNTS, type Column, type Recording } from "../../telemetry/recording/model.ts";
import type { RecordedService } from "../../telemetry/recording/service.ts";
import type { AnalysisDocument } from "../series/document.ts";
import { classifyCycles } from "./classify-cycles.ts";
import { levelsAtRest } from "./rest-levels.ts";

/** What a cycle may leave. */
const HELD: readonly Column[] = ["host", "descriptors", "threads", "files", "blocks", "python", "js_heap", "jvm_heap"];
/** Names in documents that differ from those of the columns. */
const NAMES: Partial<Record<Column, string>> = { host: "bytes", blocks: "objects" };

const differences = (values: readonly (number | null)[]): (number | null)[] =>
  values.slice(1).map((value, i) => {
    const before = values[i] ?? null;
    return value === null || before === null ? null : value - before;
  });

/** What each cycle of load left in the host's memory, and a judged one with its interval. */
export function cyclesOf(
  { tables }: Pick<Recording, "tables">,
  service: RecordedService,
): Required<Pick<AnalysisDocument, "cycles" | "per_cycle">> {
  const held = HELD.flatMap((column) => {
    const table = tables.find(({ device, columns }) => device === "host" && columns[column] !== undefined);
    const values = table?.columns[column];
    if (table === undefined || values === undefined) return [];
    const levels = levelsAtRest(table.timeNs, values, service);
    return levels.every((level) => level === null)
      ? []
      : [{ key: NAMES[column] ?? column, levels, left: differences(levels), isCount: COUNTS.has(column) }];
  });
  const requests = differences(service.rests.map(({ requests: until }) => until));
  const cycles = service.rests.slice(1).map(({ load_s = null }, i) => ({
    requests: requests[i] ?? null,
    load_s,
    ...Object.fromEntries(held.map(({ key, left }) => [key, left[i] ?? null])),
  }));
  const judged = held.flatMap(({ key, levels, isCount }) => {
    const known = levels.filter((level) => level !== null);
    // Two cycles around a rest that was not read are not one.
    if (known.length < levels.length) return [];
    const trend = classifyCycles(known, 0, isCount);
    return trend.class === "insufficient" ? [] : [[key, { left: trend.perCycle, interval: trend.interval }] as const];
  });
  return { cycles, per_cycle: Object.fromEntries(judged) };
}
