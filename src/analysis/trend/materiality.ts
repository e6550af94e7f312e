import type { Horizon } from "../../core/horizon.ts";
import { MIB } from "../../core/units.ts";
import type { Metric } from "../../telemetry/recording/model.ts";

/**
 * Healthy allocated memory is mostly bit-constant, so noise can be exactly zero and 512 bytes "infinitely significant":
 * nothing is said about a change below the larger of this and 1 % of the level. An allocator's own count moves by what the
 * program keeps, so three quarters of what pages, segments and the driver need are enough there (`bench/verdict`, part `trade-offs`).
 */
export const FLOOR_BYTES: Readonly<Record<Metric, number>> = {
  allocated: 12 * MIB,
  reserved: 16 * MIB,
  used: 16 * MIB,
  host: 16 * MIB,
};
export const FLOOR_SHARE = 0.01;
/** At a stated production length growth matters from the larger of 128 MiB and 1 % of the level, reached there. */
export const HORIZON_FLOOR_BYTES = 128 * MIB;

/**
 * Growth that has to be seen before it is projected to a horizon, bytes. Pages come from the system in pieces (128 KiB of glibc's
 * top pad, an arena of a thread): fewer than 16 such pieces say nothing of what comes far ahead. An allocator's own count has none.
 */
const MIN_PROJECTED_BYTES: Readonly<Record<Metric, number>> = {
  allocated: 0,
  reserved: 2 * MIB,
  used: 2 * MIB,
  host: 2 * MIB,
};

/** Smallest unit a metric moves in: allocator rounding, allocator segment or driver page granularity, a page. */
const QUANTUM_BYTES: Readonly<Record<Metric, number>> = {
  allocated: 512,
  reserved: 2 * MIB,
  used: 2 * MIB,
  host: 4096,
};

/** Standard deviation that rounding to the metric's quantum leaves at least, bytes: no noise is taken to be smaller. */
export function quantumNoise(metric: Metric): number {
  return QUANTUM_BYTES[metric] / Math.sqrt(12);
}

/** Smallest change that is worth a word at this level, bytes. */
export function materialChange(level: number, metric: Metric): number {
  return Math.max(FLOOR_BYTES[metric], FLOOR_SHARE * Math.abs(level));
}

/** How often the observed span fits into the horizon; null when there is no horizon in the series' own unit. */
export function horizonFactor(
  horizon: Horizon | null,
  stepSpan: number | null,
  durationS: number | null,
): number | null {
  if (horizon === null) return null;
  const span = horizon.kind === "steps" ? stepSpan : durationS;
  const length = horizon.kind === "steps" ? horizon.steps : horizon.seconds;
  return span === null || !(span > 0) || !(length > 0) ? null : length / span;
}

/**
 * Growth over the observed span from which on it is material, bytes. With a horizon: what becomes the horizon's floor by
 * then; a horizon shorter than the observation changes nothing.
 */
export function materialGrowth(level: number, metric: Metric, factor: number | null): number {
  if (factor === null || factor <= 1) return materialChange(level, metric);
  const there = Math.max(HORIZON_FLOOR_BYTES, FLOOR_SHARE * Math.abs(level)) / factor;
  return Math.max(there, MIN_PROJECTED_BYTES[metric]);
}
