import type { Horizon } from "../../core/horizon.ts";
import { MIB } from "../../core/units.ts";
import type { Metric } from "../../telemetry/recording/model.ts";

/**
 * Floor of materiality: a change below the larger of this and 1 % of the level is not judged. Healthy allocated memory
 * is mostly bit-constant, so noise can be exactly zero and 512 bytes infinitely significant. An allocator's count
 * changes only by what the program retains, so it needs three quarters of the floor of pages, segments and the driver
 * (`bench/verdict`, part `trade-offs`).
 */
export const FLOOR_BYTES: Readonly<Record<Metric, number>> = {
  allocated: 12 * MIB,
  reserved: 16 * MIB,
  used: 16 * MIB,
  host: 16 * MIB,
  host_shared_once: 16 * MIB,
  host_unmapped: 16 * MIB,
  python: 12 * MIB,
  js_heap: 12 * MIB,
  outside_allocator: 16 * MIB,
  fragmentation: 16 * MIB,
  graph_pools: 16 * MIB,
};

/** What a material change is looked up by. */
export interface Counter {
  readonly metric: Metric;
  /** "host", "cuda:0", … */
  readonly device: string;
}

/**
 * A counter of live blocks that is exact and moves by what the program keeps alone: the C heap's and Python's own. Its
 * growth is material from {@link EXACT_FLOOR_BYTES} on. Below {@link FLOOR_BYTES} it may still be a cache that fills
 * during the whole run, which no counter separates from a leak (`verdict/class-rule.ts`).
 */
export const isExact = ({ metric, device }: Counter): boolean =>
  metric === "python" || (metric === "allocated" && device === "host");
const EXACT_FLOOR_BYTES = 3 * MIB;
const FLOOR_SHARE = 0.01;
/** With a stated production length, growth is material from the larger of 128 MiB and 1 % of the level at its end. */
const HORIZON_FLOOR_BYTES = 128 * MIB;

/**
 * Minimum observed growth that is projected to a horizon, bytes. The system maps pages in chunks (128 KiB of glibc's
 * top pad, an arena of a thread), and fewer than 16 chunks do not predict distant growth. An allocator's count does not
 * move in chunks.
 */
const MIN_PROJECTED_BYTES: Readonly<Record<Metric, number>> = {
  allocated: 0,
  reserved: 2 * MIB,
  used: 2 * MIB,
  host: 2 * MIB,
  host_shared_once: 2 * MIB,
  host_unmapped: 2 * MIB,
  python: 0,
  js_heap: 2 * MIB,
  outside_allocator: 2 * MIB,
  fragmentation: 2 * MIB,
  graph_pools: 2 * MIB,
};

/**
 * Smallest unit a metric moves in: allocator rounding, allocator segment or driver page granularity, a page. Its
 * rounding error (quantum / sqrt 12) is the smallest spread ever assumed.
 */
export const QUANTUM_BYTES: Readonly<Record<Metric, number>> = {
  allocated: 512,
  reserved: 2 * MIB,
  used: 2 * MIB,
  host: 4096,
  host_shared_once: 4096,
  host_unmapped: 4096,
  python: 512,
  js_heap: MIB,
  outside_allocator: 2 * MIB,
  fragmentation: 512,
  graph_pools: 2 * MIB,
};

/** Minimum standard deviation of the noise, bytes: the rounding error of the metric's quantum. */
export function quantumNoise(metric: Metric): number {
  return QUANTUM_BYTES[metric] / Math.sqrt(12);
}

/** The largest growth, bytes, that may be a cache which fills during the whole run. */
export const cacheLimit = (level: number, metric: Metric): number =>
  Math.max(FLOOR_BYTES[metric], FLOOR_SHARE * Math.abs(level));

/** Smallest material change at this level, bytes. */
export function materialChange(level: number, counter: Counter): number {
  const floor = isExact(counter) ? EXACT_FLOOR_BYTES : FLOOR_BYTES[counter.metric];
  return Math.max(floor, FLOOR_SHARE * Math.abs(level));
}

/** Horizon over observed span. Null without a horizon in the unit of the series. */
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

/** Smallest material growth over the observed span, bytes. A longer horizon requires its own floor at its end. */
export function materialGrowth(level: number, counter: Counter, factor: number | null): number {
  if (factor === null || factor <= 1) return materialChange(level, counter);
  const there = Math.max(HORIZON_FLOOR_BYTES, FLOOR_SHARE * Math.abs(level)) / factor;
  return Math.max(there, MIN_PROJECTED_BYTES[counter.metric]);
}
