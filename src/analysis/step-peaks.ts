import type { Recording } from "../telemetry/recording/model.ts";
import type { TraceMlDiagnosis } from "./series/document.ts";
import type { StoredFeatures } from "./series/features-schema.ts";
import { groupTables, joinColumn, largest } from "./series/series.ts";
import { diagnoseRanks, MAX_STEPS, type StepPeaks } from "./traceml.ts";

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

/** Highest values of one rank's steps, by windows of `stride` steps, each named by its first step. */
interface RankSteps {
  readonly stride: number;
  readonly peaks: StepPeaks;
}

/** Input of TraceML's diagnosis: per rank the allocator's (else the device's) highest value of each step. */
export type StepPeakEvidence = StoredFeatures["stepPeaks"];

/**
 * @param most maximum number of steps of a rank. A longer run is divided into windows of a power of two of steps, each
 *   represented by its highest value
 */
export function stepPeakEvidence(recording: Recording, most = MAX_STEPS): StepPeakEvidence {
  const ranks = new Map<number, RankSteps>();
  let totalBytes: number | null = null;
  let sawGpu = false;
  for (const { rank, device, tables } of groupTables(recording.tables)) {
    if (device === "host") continue;
    const bytes = (["allocated", "reserved", "used"] as const)
      .map((metric) => joinColumn(tables, (table) => table.columns[metric]))
      .find((column) => largest(column) !== null);
    if (!bytes) continue;
    sawGpu = true;
    const capacity = largest(joinColumn(tables, (table) => table.columns.total));
    if (capacity !== null) totalBytes = Math.max(totalBytes ?? 0, capacity);
    const steps = joinColumn(tables, (table) => table.steps);
    if (!steps || ranks.has(rank)) continue;
    ranks.set(rank, inWindows(newestStepPeaks(steps, bytes), most));
  }
  return { ranks, totalBytes, sawGpu };
}

function inWindows(peaks: StepPeaks, most: number): RankSteps {
  let stride = 1;
  while (peaks.size / stride > most) stride *= 2;
  return { stride, peaks: windowed(peaks, stride) };
}

function windowed(peaks: StepPeaks, stride: number): StepPeaks {
  if (stride === 1) return peaks;
  const kept = new Map<number, number>();
  for (const [step, bytes] of peaks) {
    const window = Math.floor(step / stride) * stride;
    kept.set(window, Math.max(bytes, kept.get(window) ?? 0));
  }
  return kept;
}

/** TraceML's diagnosis over the ranks of all parts, in the widest windows of any of them. */
export function diagnoseEvidence(parts: readonly StepPeakEvidence[]): TraceMlDiagnosis[] {
  const ranks = new Map<number, RankSteps>();
  for (const part of parts) for (const [rank, steps] of part.ranks) if (!ranks.has(rank)) ranks.set(rank, steps);
  const stride = [...ranks.values()].reduce((widest, one) => Math.max(widest, one.stride), 1);
  const sorted = [...ranks].sort(([a], [b]) => a - b);
  const totals = parts.flatMap(({ totalBytes }) => totalBytes ?? []);
  return diagnoseRanks(
    new Map(sorted.map(([rank, { peaks }]) => [rank, windowed(peaks, stride)])),
    totals.length === 0 ? null : Math.max(...totals),
    parts.some(({ sawGpu }) => sawGpu),
  );
}
