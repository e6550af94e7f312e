import { groupBy } from "../../core/group-by.ts";
import { MIB } from "../../core/units.ts";
import { mean, standardDeviation } from "../../stats/moments.ts";
import { median } from "../../stats/order-statistics.ts";
import type { TelemetryEvent } from "../../telemetry/recording/model.ts";
import type { Finding } from "../series/document.ts";
import { compareBigInt } from "./cross-rank.ts";
import { roundTo } from "./gap.ts";

/** Stormlog's medium thresholds for the attribution of a gap spike to communication. Windows in nanoseconds. */
const MIN_SAMPLES = 6;
const MIN_GAP_BYTES = 128 * MIB;
const MIN_GAP_RATIO = 0.04;
const MIN_ZSCORE = 2.5;
const MARKER_WINDOW_NS = 150_000_000n;
const SYNCHRONY_WINDOW_NS = 120_000_000n;
const PADDING_NS = 120_000_000n;
const MIN_SYNCHRONY = 0.5;
const MIN_CONFIDENCE = 0.5;

const MARKER_TOKENS = [
  "nccl",
  "collective",
  "communication",
  "all_reduce",
  "allreduce",
  "all_gather",
  "allgather",
  "reduce_scatter",
  "reducescatter",
  "broadcast",
  "barrier",
];

const CONFIDENT = 0.8;
const LIKELY = 0.6;
const WEIGHTS = { marker: 0.34, synchrony: 0.34, zscore: 0.16, size: 0.16 } as const;
const PENALTIES = { noMarker: 0.15, singleRank: 0.15, noTotal: 0.05 } as const;

/** A gap spike attributed to a collective operation. Interval ends are Unix nanoseconds. */
export interface CollectiveAttribution {
  readonly rank: number;
  readonly classification: "collective_confident" | "collective_likely" | "collective_suspect";
  readonly confidence: number;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly reasonCodes: readonly string[];
  readonly evidence: Finding["evidence"];
}

interface Spike {
  readonly rank: number;
  readonly at: bigint;
  readonly gap: number;
  readonly ratio: number | null;
  readonly zscore: number;
}

const distance = (a: bigint, b: bigint): bigint => (a < b ? b - a : a - b);

const earliest = (times: readonly bigint[]): bigint => times.reduce((first, at) => (at < first ? at : first));
const latest = (times: readonly bigint[]): bigint => times.reduce((last, at) => (at > last ? at : last));

/** All strings in a value. Keys of objects are not evidence. */
function* stringsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (Array.isArray(value)) for (const item of value) yield* stringsIn(item);
  else if (value !== null && typeof value === "object") for (const item of Object.values(value)) yield* stringsIn(item);
}

export const isSample = ({ eventType }: TelemetryEvent): boolean => eventType.trim().toLowerCase() === "sample";

/** Whether an event names communication, in its type, its context or a value of its metadata. */
export function isCollectiveMarker(event: TelemetryEvent): boolean {
  for (const text of stringsIn([event.eventType, event.context ?? "", event.metadata])) {
    const lower = text.toLowerCase();
    if (MARKER_TOKENS.some((token) => lower.includes(token))) return true;
  }
  return false;
}

function spikesOf(rank: number, samples: readonly TelemetryEvent[]): Spike[] {
  if (samples.length < MIN_SAMPLES) return [];
  const gaps = Float64Array.from(samples, (event) => Math.max(0, event.deviceUsed! - event.allocatorReserved!));
  const centre = median(gaps);
  const spread = median(gaps.map((gap) => Math.abs(gap - centre)));
  const average = mean(gaps);
  const deviation = standardDeviation(gaps);
  const zscore = (gap: number): number => {
    if (spread > 0) return Math.max(0, (0.6745 * (gap - centre)) / spread);
    return deviation > 0 ? Math.max(0, (gap - average) / deviation) : 0;
  };
  return samples.flatMap((event, i) => {
    const gap = gaps[i]!;
    const ratio = event.deviceTotal !== null && event.deviceTotal > 0 ? gap / event.deviceTotal : null;
    const large = gap >= MIN_GAP_BYTES || (ratio !== null && ratio >= MIN_GAP_RATIO);
    const z = zscore(gap);
    return large && z >= MIN_ZSCORE ? [{ rank, at: event.timestampNs, gap, ratio, zscore: z }] : [];
  });
}

function confidenceOf(spike: Spike, markerHits: number, ranks: number, synchrony: number): number {
  const size = Math.max(
    Math.min(1, spike.gap / MIN_GAP_BYTES),
    spike.ratio === null ? 0 : Math.min(1, spike.ratio / MIN_GAP_RATIO),
  );
  const score =
    (markerHits > 0 ? WEIGHTS.marker : -PENALTIES.noMarker) +
    WEIGHTS.synchrony * synchrony +
    WEIGHTS.zscore * Math.min(1, spike.zscore / MIN_ZSCORE) +
    WEIGHTS.size * size -
    (ranks <= 1 ? PENALTIES.singleRank : 0) -
    (spike.ratio === null ? PENALTIES.noTotal : 0);
  return roundTo(Math.max(0, Math.min(1, score)), 3);
}

/**
 * Gap spikes that coincide with communication, by Stormlog's scoring: a marker near the spike, simultaneous spikes of
 * other ranks, and the size of the spike. Attributions of one rank whose intervals overlap are merged, and the one with
 * the highest confidence stays.
 */
export function attributeCollectives(events: readonly TelemetryEvent[]): CollectiveAttribution[] {
  if (events.length === 0) return [];
  const start = earliest(events.map((event) => event.timestampNs));
  const markers = events.filter(isCollectiveMarker);
  const usable = events.filter(
    (event) => isSample(event) && event.deviceUsed !== null && event.allocatorReserved !== null,
  );
  const samples = groupBy(usable, ({ rank }) => rank);
  const worldSize = events.reduce((max, event) => Math.max(max, event.worldSize, event.rank + 1), 1);
  const ranks = [...samples.keys()].sort((a, b) => a - b);
  const spikes = ranks.flatMap((rank) => spikesOf(rank, samples.get(rank)!));

  const attributions = spikes.flatMap((spike): CollectiveAttribution[] => {
    const near = markers.filter(
      (marker) => marker.rank === spike.rank && distance(marker.timestampNs, spike.at) <= MARKER_WINDOW_NS,
    );
    const together = new Set(
      spikes.filter((other) => distance(other.at, spike.at) <= SYNCHRONY_WINDOW_NS).map((other) => other.rank),
    );
    const ratio = worldSize > 1 ? Math.min(1, (together.size - 1) / (worldSize - 1)) : 0;
    const synchronous = ratio >= MIN_SYNCHRONY;
    const confidence = confidenceOf(spike, near.length, together.size, ratio);
    if (confidence < MIN_CONFIDENCE || (near.length === 0 && !synchronous)) return [];
    const times = [spike.at, ...near.map((marker) => marker.timestampNs)];
    const from = earliest(times) - PADDING_NS;
    const to = latest(times) + PADDING_NS;
    const reasonCodes = [
      "allocator_device_divergence",
      ...(synchronous ? ["cross_rank_synchrony"] : []),
      "gap_spike_statistical_outlier",
      ...(near.length > 0 ? ["marker_collective_token", "marker_spike_overlap"] : []),
    ];
    return [
      {
        rank: spike.rank,
        classification:
          confidence >= CONFIDENT
            ? "collective_confident"
            : confidence >= LIKELY
              ? "collective_likely"
              : "collective_suspect",
        confidence,
        startNs: latest([from, start]),
        endNs: to,
        reasonCodes,
        evidence: {
          marker_hits: near.length,
          synchronized_ranks: together.size,
          expected_world_size: worldSize,
          synchrony_ratio: roundTo(ratio, 4),
          peak_gap_bytes: spike.gap,
          peak_gap_ratio: spike.ratio === null ? null : roundTo(spike.ratio, 6),
          robust_zscore: roundTo(spike.zscore, 4),
        },
      },
    ];
  });
  return mergeOverlapping(attributions);
}

function mergeOverlapping(attributions: readonly CollectiveAttribution[]): CollectiveAttribution[] {
  const ordered = [...attributions].sort((a, b) => a.rank - b.rank || compareBigInt(a.startNs, b.startNs));
  const merged: CollectiveAttribution[] = [];
  for (const next of ordered) {
    const last = merged[merged.length - 1];
    if (!last || last.rank !== next.rank || next.startNs > last.endNs) {
      merged.push(next);
      continue;
    }
    const surer = next.confidence > last.confidence ? next : last;
    merged[merged.length - 1] = {
      ...surer,
      startNs: last.startNs,
      endNs: latest([next.endNs, last.endNs]),
      reasonCodes: [...new Set([...last.reasonCodes, ...next.reasonCodes])].sort(),
    };
  }
  return merged;
}
