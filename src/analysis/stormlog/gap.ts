import tCdf from "@stdlib/stats-base-dists-t-cdf";
import { mean as average, standardDeviation } from "../../stats/moments.ts";
import { compareSeverity, type Finding } from "../series/document.ts";
import type { StoredFeatures } from "../series/features-schema.ts";

/** Stormlog's defaults. Nothing is reported while all gaps are a smaller share of the device. */
const MIN_GAP_RATIO = 0.05;
const SPIKE_ZSCORE = 2;
const DRIFT_R_SQUARED = 0.6;
const FRAGMENTATION_RATIO = 0.3;

const MIN_SAMPLES = 3;
const MIN_DRIFT_SAMPLES = 5;
const CRITICAL_R_SQUARED = 0.85;
const CRITICAL_FRAGMENTATION = 0.5;

/** Samples of one rank on one device in file order, without missing values; bytes, nanoseconds since any time. */
export interface GapSamples {
  readonly rank: number;
  readonly device: string;
  readonly timeNs: ArrayLike<number>;
  readonly allocated: ArrayLike<number>;
  readonly reserved: ArrayLike<number>;
  readonly used: ArrayLike<number>;
  readonly total: ArrayLike<number>;
  /** Inactive split blocks of telemetry version 4, to which Stormlog 0.4.3 applies its later rule of fragmentation. */
  readonly inactive?: ArrayLike<number>;
}

/** The release of Stormlog whose rule of `fragmentation_like` applies: the later one reads inactive split blocks. */
export type FragmentationRule = StoredFeatures["fragmentationRules"][number];

export const fragmentationRule = ({ inactive }: GapSamples): FragmentationRule =>
  inactive === undefined ? "0.3.10" : "0.4.3";

const REMEDIATION = {
  transient_spike: [
    "Look for work outside the allocator at the moment of the spike: collective buffers, cuDNN or cuBLAS workspaces, another process on the device.",
    "Cap library workspaces (for example CUBLAS_WORKSPACE_CONFIG) or warm them up before measuring.",
    "If the spikes line up with communication, compare all ranks before changing the model.",
  ],
  persistent_drift: [
    "Memory grows outside the framework's allocator: check custom CUDA extensions, graph captures, NCCL communicators and contexts created per iteration.",
    "Bisect by leaving native extensions out one at a time while watching device memory minus reserved memory.",
    "Make sure that no other process on this device is growing.",
  ],
  fragmentation_like: [
    "Try expandable segments (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True) or a smaller max_split_size_mb.",
    "Keep tensor shapes stable, for example by padding or bucketing variable lengths.",
    "Release the cache once between phases whose shapes differ, not inside the step.",
  ],
} as const;

/** Decimal places as Python rounds them: from the exact binary value, ties to even. */
export function roundTo(value: number, places: number): number {
  if (!Number.isFinite(value)) return value;
  // A binary number lies exactly between two decimals only as an odd multiple of 2^-(places+1).
  const halves = value * 2 ** (places + 1);
  if (Number.isInteger(halves) && halves % 2 !== 0) {
    const down = Math.floor(value * 10 ** places);
    return (down % 2 === 0 ? down : down + 1) / 10 ** places;
  }
  return Number(value.toFixed(places));
}

/**
 * Stormlog's analysis of the gap between device-used and allocator-reserved memory of one rank: at most one finding of
 * each kind, by severity, then confidence. A zero time span (all timestamps equal) yields no drift.
 */
export function gapFindings(samples: GapSamples): Finding[] {
  const rows = usableRows(samples);
  if (rows.length < MIN_SAMPLES) return [];
  const gap = new Float64Array(rows.length);
  let widest = 0;
  for (let k = 0; k < gap.length; k++) gap[k] = samples.used[rows[k]!]! - samples.reserved[rows[k]!]!;
  for (let k = 0; k < gap.length; k++) widest = Math.max(widest, Math.abs(gap[k]! / samples.total[rows[k]!]!));
  if (widest < MIN_GAP_RATIO) return [];
  const findings = [spikes(samples, gap), drift(samples, rows, gap), fragmentation(samples, rows, gap)].filter(
    (finding) => finding !== null,
  );
  return findings.sort((a, b) => compareSeverity(a, b) || b.confidence - a.confidence);
}

function usableRows({ total, used, reserved }: GapSamples): Uint32Array {
  const rows = new Uint32Array(total.length);
  let count = 0;
  for (let i = 0; i < total.length; i++) {
    if (total[i]! > 0 && Number.isFinite(used[i]!) && Number.isFinite(reserved[i]!)) rows[count++] = i;
  }
  return rows.subarray(0, count);
}

function spikes(samples: GapSamples, gap: Float64Array): Finding | null {
  const mean = average(gap);
  const deviation = standardDeviation(gap);
  if (deviation === 0) return null;
  let count = 0;
  let top = Number.NEGATIVE_INFINITY;
  let maxGap = Number.NEGATIVE_INFINITY;
  for (const value of gap) {
    const z = (value - mean) / deviation;
    if (z > SPIKE_ZSCORE) {
      count++;
      maxGap = Math.max(maxGap, value);
    }
    top = Math.max(top, z);
  }
  if (count === 0) return null;
  return {
    classification: "transient_spike",
    severity: top > 2 * SPIKE_ZSCORE ? "critical" : "warning",
    confidence: roundTo(Math.min(1, top / (3 * SPIKE_ZSCORE)), 3),
    rank: samples.rank,
    device: samples.device,
    metric: "used",
    evidence: {
      spike_count: count,
      max_gap_bytes: maxGap,
      max_zscore: roundTo(top, 3),
      mean_gap_bytes: roundTo(mean, 1),
      std_gap_bytes: roundTo(deviation, 1),
    },
    description: `Detected ${count} transient spike(s) in the device-vs-allocator gap (max z-score ${top.toFixed(1)}).`,
    remediation: REMEDIATION.transient_spike,
  };
}

function drift(samples: GapSamples, rows: Uint32Array, gap: Float64Array): Finding | null {
  const n = gap.length;
  if (n < MIN_DRIFT_SAMPLES) return null;
  const origin = samples.timeNs[rows[0]!]!;
  const x = new Float64Array(n);
  for (let k = 0; k < n; k++) x[k] = samples.timeNs[rows[k]!]! - origin;
  const mx = average(x);
  const my = average(gap);
  let sxx = 0;
  let sxy = 0;
  let syy = 0;
  for (let i = 0; i < n; i++) {
    sxx += (x[i]! - mx) ** 2;
    sxy += (x[i]! - mx) * (gap[i]! - my);
    syy += (gap[i]! - my) ** 2;
  }
  if (!(sxx > 0) || !(syy > 0)) return null;
  const slope = sxy / sxx;
  const r = Math.max(-1, Math.min(1, sxy / Math.sqrt(sxx * syy)));
  const rSquared = r * r;
  if (!(slope > 0) || rSquared < DRIFT_R_SQUARED) return null;
  const degrees = n - 2;
  const t = r * Math.sqrt(degrees / Math.max(1e-20, (1 - r) * (1 + r)));
  const slopePerSecond = slope * 1e9;
  return {
    classification: "persistent_drift",
    severity: rSquared > CRITICAL_R_SQUARED ? "critical" : "warning",
    confidence: roundTo(Math.min(1, rSquared), 3),
    rank: samples.rank,
    device: samples.device,
    metric: "used",
    evidence: {
      slope_bytes_per_sec: roundTo(slopePerSecond, 1),
      r_squared: roundTo(rSquared, 4),
      p_value: roundTo(Math.min(1, 2 * tCdf(-Math.abs(t), degrees)), 6),
      gap_start_bytes: roundTo(gap[0]!, 1),
      gap_end_bytes: roundTo(gap[n - 1]!, 1),
    },
    description: `Device-vs-allocator gap is drifting upward at ${formatStormlogBytes(Math.trunc(slopePerSecond))}/s (R²=${rSquared.toFixed(2)}).`,
    remediation: REMEDIATION.persistent_drift,
  };
}

/** Fragmentation of one sample by the rule that applies; null where a counter is missing. */
function fragmentationRatio({ reserved, allocated, inactive }: GapSamples, i: number): number | null {
  const whole = reserved[i]!;
  const part = inactive === undefined ? whole - allocated[i]! : inactive[i]!;
  if (!(whole > 0) || !Number.isFinite(part)) return null;
  // Allocated can exceed reserved when the two are read one after the other. This is not negative fragmentation.
  return Math.max(0, part / whole);
}

function fragmentation(samples: GapSamples, rows: Uint32Array, gap: Float64Array): Finding | null {
  let sum = 0;
  let worst = Number.NEGATIVE_INFINITY;
  let count = 0;
  for (const i of rows) {
    const ratio = fragmentationRatio(samples, i);
    if (ratio === null) continue;
    sum += ratio;
    worst = Math.max(worst, ratio);
    count++;
  }
  const mean = sum / count;
  const percent = `${roundTo(mean * 100, 0)}%`;
  if (count === 0 || mean < FRAGMENTATION_RATIO) return null;
  return {
    classification: "fragmentation_like",
    severity: mean > CRITICAL_FRAGMENTATION ? "critical" : "warning",
    confidence: roundTo(Math.min(1, mean / (2 * FRAGMENTATION_RATIO)), 3),
    rank: samples.rank,
    device: samples.device,
    metric: "reserved",
    evidence: {
      avg_fragmentation_ratio: roundTo(mean, 4),
      max_fragmentation_ratio: roundTo(worst, 4),
      avg_gap_bytes: roundTo(average(gap), 1),
      sample_count: count,
    },
    description:
      fragmentationRule(samples) === "0.4.3"
        ? `Inactive split blocks average ${percent} of reserved memory: freed space inside segments still in use, which can neither return to the device nor serve a larger request.`
        : `Allocator fragmentation averaging ${percent} suggests reserved-but-unused memory is inflating the device footprint.`,
    remediation: REMEDIATION.fragmentation_like,
  };
}

const LABELS = ["B", "KB", "MB", "GB", "TB", "PB"] as const;

/**
 * Formats a size like Stormlog: powers of 1024 under decimal labels, two decimals, negative values never scaled. Only
 * for strings that must match Stormlog's. All others use binary units.
 */
export function formatStormlogBytes(bytes: number): string {
  if (bytes === 0) return "0 B";
  let value = bytes;
  let label = 0;
  while (value >= 1024 && label < LABELS.length - 1) {
    value /= 1024;
    label++;
  }
  return `${value.toFixed(2)} ${LABELS[label]}`;
}
