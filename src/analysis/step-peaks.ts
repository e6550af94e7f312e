import type { Recording } from "../telemetry/model.ts";
import type { TraceMlDiagnosis } from "./document.ts";
import { groupTables, joinColumn, largest } from "./series.ts";
import { diagnoseRanks } from "./traceml.ts";

/** Steps the diagnosis looks back over; older ones are not collected. */
const MAX_STEPS = 10_000;

/** Largest value of each of the newest steps. */
function newestStepPeaks(steps: Float64Array, bytes: Float64Array): Map<number, number> {
  const peaks = new Map<number, number>();
  let ascending = true;
  for (let i = 1; i < steps.length && ascending; i++) if (steps[i]! < steps[i - 1]!) ascending = false;
  for (let i = steps.length - 1; i >= 0; i--) {
    const step = steps[i]!;
    const value = bytes[i]!;
    if (!Number.isFinite(step) || !Number.isFinite(value)) continue;
    const known = peaks.get(step);
    if (known === undefined && ascending && peaks.size === MAX_STEPS) break;
    if (known === undefined || value > known) peaks.set(step, value);
  }
  return peaks;
}

/** TraceML's diagnosis of a recording: per rank the allocator's (else the device's) highest value of each step. */
export function diagnoseRecording(recording: Recording, deviceCapacityBytes: number | null): TraceMlDiagnosis[] {
  const ranks = new Map<number, Map<number, number>>();
  let total = deviceCapacityBytes;
  let sawGpu = false;
  for (const { rank, device, tables } of groupTables(recording.tables)) {
    if (device === "host") continue;
    const bytes = (["allocated", "reserved", "used"] as const)
      .map((metric) => joinColumn(tables, (table) => table.columns[metric]))
      .find((column) => largest(column) !== null);
    if (!bytes) continue;
    sawGpu = true;
    const capacity = largest(joinColumn(tables, (table) => table.columns.total));
    if (capacity !== null) total = Math.max(total ?? 0, capacity);
    const steps = joinColumn(tables, (table) => table.steps);
    if (!steps || ranks.has(rank)) continue;
    ranks.set(rank, newestStepPeaks(steps, bytes));
  }
  return diagnoseRanks(ranks, total, sawGpu);
}
