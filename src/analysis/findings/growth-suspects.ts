import { median } from "../../stats/order-statistics.ts";
import type { Metric } from "../../telemetry/recording/model.ts";
import type { FirstCauseSuspect, RanksAnalysis, SeriesAnalysis } from "../document.ts";
import type { MetricSeries } from "../series.ts";

/** A series and its analysis. */
export interface RankSeries {
  readonly series: MetricSeries;
  readonly analysis: SeriesAnalysis;
}

/** The growth has begun once the level exceeds the start level by this share of the growth. */
const ONSET_SHARE = 0.1;
/** Start level: the median of this share of the samples. */
const START_SHARE = 0.05;

/** A series that grows, with its onset. */
export interface GrowthOnset {
  readonly rank: number;
  readonly metric: Metric;
  /** Unix nanoseconds. */
  readonly onsetNs: bigint;
  readonly growth: number;
  readonly samples: number;
  readonly leak: boolean;
}

/** The time after the last sample near the start level, or the first sample's. */
function onsetOf({ timeNs, bytes }: MetricSeries, growth: number, epochNs: bigint): bigint | null {
  if (timeNs === null || timeNs.length === 0) return null;
  const start = median(bytes.slice(0, Math.max(1, Math.round(START_SHARE * bytes.length))).filter(Number.isFinite));
  let at = 0;
  for (let i = 0; i < bytes.length; i++) {
    const value = bytes[i] ?? Number.NaN;
    if (value <= start + ONSET_SHARE * growth) at = i;
  }
  const time = timeNs[Math.min(at + 1, timeNs.length - 1)] ?? Number.NaN;
  return Number.isFinite(time) ? epochNs + BigInt(Math.round(time)) : null;
}

/** Onset of each series that leaks or rises and can make its rank a suspect. */
export function growthOnsets(all: readonly RankSeries[], epochNs: bigint): GrowthOnset[] {
  return all.flatMap(({ series, analysis }): GrowthOnset[] => {
    const { rank, metric, samples } = analysis;
    const growth = analysis.growth_bytes ?? 0;
    const grows = analysis.class === "leak" || analysis.class === "rising";
    if ((metric !== "allocated" && metric !== "host") || !grows || growth <= 0) return [];
    const onsetNs = onsetOf(series, growth, epochNs);
    return onsetNs === null ? [] : [{ rank, metric, onsetNs, growth, samples, leak: analysis.class === "leak" }];
  });
}

/**
 * The series of each rank that grows most, if one leaks or rises. The allocator's level is preferred to the host's
 * pages, because one gate over several ranks attributes the pages of all of them to its own rank.
 */
function growingRanks(all: readonly SeriesAnalysis[], onsets: readonly GrowthOnset[], offsetOf: OffsetOf): Growing[] {
  const best = new Map<number, GrowthOnset>();
  const counted = new Set(
    all.flatMap((analysis) =>
      analysis.metric === "allocated" && analysis.class !== "insufficient" && analysis.class !== "unavailable"
        ? [analysis.rank]
        : [],
    ),
  );
  for (const metric of ["allocated", "host"] as const) {
    for (const one of onsets) {
      if (one.metric !== metric || (metric === "host" && counted.has(one.rank))) continue;
      const known = best.get(one.rank);
      if (known === undefined || known.growth < one.growth) best.set(one.rank, one);
    }
  }
  // A leak before a mere rise, then the earliest onset on the common clock, then the largest growth.
  return [...best.values()]
    .map((one) => ({ ...one, aligned: one.onsetNs - offsetOf(one.rank) }))
    .sort(
      (a, b) =>
        Number(b.leak) - Number(a.leak) ||
        (a.aligned < b.aligned ? -1 : a.aligned > b.aligned ? 1 : 0) ||
        b.growth - a.growth ||
        a.rank - b.rank,
    );
}

interface Growing extends GrowthOnset {
  readonly aligned: bigint;
}

type OffsetOf = (rank: number) => bigint;

/**
 * Suspects by growth, when no rank's memory jumped: a leak of kilobytes a step never causes the spike that the
 * cross-rank rule needs. One rank that grows among others that do not is a suspect of high confidence. Of several, the
 * first to begin is of medium confidence. `first_spike_timestamp_ns` is then the onset of the growth and the deltas are
 * the growth.
 */
export function withGrowthSuspects(
  ranks: RanksAnalysis,
  all: readonly SeriesAnalysis[],
  onsets: readonly GrowthOnset[],
): RanksAnalysis {
  if (ranks.participating_ranks.length < 2 || ranks.first_cause_suspects.length > 0) return ranks;
  const offsetOf = (rank: number) => BigInt(ranks.alignment_offsets_ns[String(rank)] ?? "0");
  const growing = growingRanks(all, onsets, offsetOf);
  const first = growing[0];
  if (first === undefined) return ranks;
  const alone = growing.length === 1 && first.leak;
  const second = growing[1];
  const suspects = growing
    // Where a rank leaks, those that only rise are followers.
    .filter(({ leak }) => leak || !first.leak)
    .map((one): FirstCauseSuspect => {
      const lead = second === undefined || one !== first ? 0n : second.aligned - one.aligned;
      return {
        rank: one.rank,
        first_spike_timestamp_ns: String(one.onsetNs),
        aligned_first_spike_timestamp_ns: String(one.aligned),
        peak_delta_bytes: one.growth,
        spike_window_samples: one.samples,
        lead_over_cluster_onset_ns: String(lead < 0n ? 0n : lead),
        confidence: alone && ranks.missing_ranks.length === 0 ? "high" : one === first ? "medium" : "low",
        evidence: { device_used_delta_bytes: one.growth, supporting_ranks_at_or_before_onset: growing.length },
      };
    });
  return {
    ...ranks,
    cluster_onset_timestamp_ns: String(first.aligned),
    first_cause_suspects: suspects,
    notes: [...ranks.notes, "No rank's memory jumped: the suspects are the ranks whose memory grows."],
  };
}
