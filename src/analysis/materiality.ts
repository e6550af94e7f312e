import { MIB } from "../core/units.ts";
import type { Metric } from "../telemetry/model.ts";
import type { Horizon } from "./horizon.ts";

/**
 * Healthy allocated memory is mostly bit-constant, so noise can be exactly zero and 512 bytes "infinitely significant":
 * nothing is said about a change below the larger of 16 MiB and 1 % of the level.
 */
export const FLOOR_BYTES = 16 * MIB;
export const FLOOR_SHARE = 0.01;
/** At a stated production length growth matters from the larger of 128 MiB and 1 % of the level, reached there. */
export const HORIZON_FLOOR_BYTES = 128 * MIB;

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
export function materialChange(level: number): number {
  return Math.max(FLOOR_BYTES, FLOOR_SHARE * Math.abs(level));
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
export function materialGrowth(level: number, factor: number | null): number {
  if (factor === null || factor <= 1) return materialChange(level);
  return Math.max(HORIZON_FLOOR_BYTES, FLOOR_SHARE * Math.abs(level)) / factor;
}
