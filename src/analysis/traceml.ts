import { GIB } from "../core/units.ts";
import { mean } from "../stats/moments.ts";
import { median } from "../stats/order-statistics.ts";
import type { TraceMlDiagnosis } from "./series/document.ts";

/**
 * TraceML's step-memory diagnosis (traceopt-ai/traceml 0.3.6): bands of the per-step peaks, worst and median over the
 * ranks. It is reported beside our own class for users of TraceML and never affects a verdict.
 */
export interface StepMemoryInput {
  /** Per common step: largest per-step peak over the ranks, bytes. */
  readonly worst: ArrayLike<number>;
  /** Per common step: median over the ranks, bytes. */
  readonly median: ArrayLike<number>;
  /** Largest device capacity, bytes; null when unknown. */
  readonly deviceTotal: number | null;
  /** (worst peak − median peak) / median peak. */
  readonly skew: number;
  readonly worstRank: number | null;
}

const MIN_STEPS = 50;
const PRESSURE = { warn: 0.92, crit: 0.97 } as const;
const SKEW = { warn: 0.2, crit: 0.3 } as const;
const SKEW_PRESSURE = { warn: 0.3, crit: 0.5 } as const;
const CREEP_CONFIRMED_BYTES = GIB;
/** Shares of the window: baseline, middle and recent band. */
const BANDS = [
  [0.15, 0.25],
  [0.45, 0.55],
  [0.9, 1],
] as const;

const STATUS: Readonly<Record<TraceMlDiagnosis["kind"], string>> = {
  CREEP_CONFIRMED: "MEMORY CREEP",
  CREEP_EARLY: "MEMORY RISING",
  HIGH_PRESSURE: "HIGH PRESSURE",
  IMBALANCE: "IMBALANCE",
  BALANCED: "BALANCED",
  NO_DATA: "NO DATA",
  NO_GPU: "NO GPU",
};

function diagnosisOf(
  kind: TraceMlDiagnosis["kind"],
  severity: TraceMlDiagnosis["severity"],
  worstRank: number | null,
): TraceMlDiagnosis {
  return { kind, status: STATUS[kind], severity, worst_rank: worstRank };
}

function bandMeans(values: ArrayLike<number>): number[] {
  return BANDS.map(([from, to]) => {
    const first = Math.floor(values.length * from);
    const end = Math.ceil(values.length * to);
    return mean(values, first, end);
  });
}

const rising = ([baseline, middle, recent]: readonly number[]): boolean => baseline! < middle! && middle! < recent!;

function largest(values: ArrayLike<number>): number {
  let max = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) max = Math.max(max, values[i]!);
  return max;
}

/** All issues that apply, the most important first; never empty (`BALANCED`, `NO_DATA`). */
export function stepMemoryDiagnosis(input: StepMemoryInput): TraceMlDiagnosis[] {
  if (input.worst.length < MIN_STEPS) return [diagnosisOf("NO_DATA", "info", null)];
  const { worstRank, skew } = input;
  const issues: TraceMlDiagnosis[] = [];
  const pressure =
    input.deviceTotal !== null && input.deviceTotal > 0 ? largest(input.worst) / input.deviceTotal : null;
  if (pressure !== null && pressure >= PRESSURE.warn) {
    issues.push(diagnosisOf("HIGH_PRESSURE", pressure >= PRESSURE.crit ? "crit" : "warn", worstRank));
  }
  if (pressure !== null && skew >= SKEW.warn && pressure >= SKEW_PRESSURE.warn) {
    const severe = skew >= SKEW.crit && pressure >= SKEW_PRESSURE.crit;
    issues.push(diagnosisOf("IMBALANCE", severe ? "crit" : "warn", worstRank));
  }
  const worst = bandMeans(input.worst);
  if (rising(worst) && rising(bandMeans(input.median))) {
    const confirmed = worst[2]! - worst[0]! >= CREEP_CONFIRMED_BYTES;
    issues.push(diagnosisOf(confirmed ? "CREEP_CONFIRMED" : "CREEP_EARLY", confirmed ? "warn" : "info", worstRank));
  }
  return issues.length > 0 ? issues : [diagnosisOf("BALANCED", "info", worstRank)];
}

/** Per-step peaks of one rank: step → bytes. */
export type StepPeaks = ReadonlyMap<number, number>;

/** Number of newest steps that TraceML uses. Older ones are not collected. */
export const MAX_STEPS = 10_000;

/** Diagnosis over the steps that all ranks have. `NO_GPU` without any GPU series, `NO_DATA` below 50 common steps. */
export function diagnoseRanks(
  ranks: ReadonlyMap<number, StepPeaks>,
  deviceTotal: number | null,
  sawGpu: boolean,
): TraceMlDiagnosis[] {
  if (!sawGpu) return [diagnosisOf("NO_GPU", "info", null)];
  const [first, ...others] = [...ranks.values()];
  if (!first) return [diagnosisOf("NO_DATA", "info", null)];
  // One row per step with every rank's value; a step that one rank lacks has none.
  const rows = [...first].flatMap(([step, bytes]) => {
    const row = new Float64Array(ranks.size);
    row[0] = bytes;
    for (const [at, peaks] of others.entries()) {
      const value = peaks.get(step);
      if (value === undefined) return [];
      row[at + 1] = value;
    }
    return [{ step, row }];
  });
  const common = rows.sort((a, b) => a.step - b.step).slice(-MAX_STEPS);
  if (common.length < MIN_STEPS) return [diagnosisOf("NO_DATA", "info", null)];
  const highest = new Float64Array(ranks.size).fill(Number.NEGATIVE_INFINITY);
  for (const { row } of common) for (let i = 0; i < row.length; i++) highest[i] = Math.max(highest[i]!, row[i]!);
  const peaks = [...ranks.keys()].map((rank, i) => ({ rank, peak: highest[i]! }));
  const worst = peaks.reduce((top, next) => (next.peak > top.peak ? next : top));
  const middle = median(highest);
  return stepMemoryDiagnosis({
    worst: common.map(({ row }) => largest(row)),
    median: common.map(({ row }) => median(row)),
    deviceTotal,
    skew: middle > 0 ? (worst.peak - middle) / middle : 0,
    worstRank: worst.rank,
  });
}
