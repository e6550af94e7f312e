import { groupBy } from "../../core/group-by.ts";
import { MIB } from "../../core/units.ts";
import { medianOfSketches, medianSketch } from "../../stats/median-sketch.ts";
import type { TelemetryEvent } from "../../telemetry/recording/model.ts";
import type { FirstCauseSuspect, RanksAnalysis } from "../series/document.ts";
import type { StoredFeatures } from "../series/features-schema.ts";

export const isSample = ({ eventType }: TelemetryEvent): boolean => eventType.trim().toLowerCase() === "sample";

/** One sample of device memory; Unix nanoseconds as BigInt because they exceed 2^53. */
export interface RankSample {
  readonly rank: number;
  readonly timestampNs: bigint;
  readonly pid: number;
  readonly host: string;
  readonly jobId: string | null;
  readonly worldSize: number;
  readonly deviceUsed: number;
}

const MIN_SPIKE_BYTES = 64 * MIB;
const SPIKE_SHARE = 0.1;
const LARGE_OFFSET_INTERVALS = 5n;

/** Maximum world size whose ranks are checked one by one, and maximum number of listed ranks. */
const MAX_FOLLOWED = 100_000;
const MAX_LISTED = 1000;

/** Ranks below the world size that are absent, as far as ranks are checked one by one. */
export function missingRanks(ranks: readonly number[], worldSize: number): readonly number[] {
  const present = new Set(ranks);
  const missing: number[] = [];
  for (let rank = 0; rank < Math.min(worldSize, MAX_FOLLOWED); rank++) if (!present.has(rank)) missing.push(rank);
  return missing;
}

function listed(ranks: readonly number[]): string {
  const more = ranks.length - MAX_LISTED;
  return more <= 0 ? ranks.join(", ") : `${ranks.slice(0, MAX_LISTED).join(", ")} and ${more} more`;
}

interface Candidate {
  readonly rank: number;
  readonly at: bigint;
  readonly aligned: bigint;
  readonly delta: number;
  readonly rises: number;
}

/** The most frequent value of the samples that have one. */
function mostCommon<T>(samples: readonly RankSample[], pick: (sample: RankSample) => T | null): T | null {
  const counts = new Map<T, number>();
  for (const sample of samples) {
    const value = pick(sample);
    if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  let best: T | null = null;
  let most = 0;
  for (const [value, count] of counts) {
    if (count > most) {
      best = value;
      most = count;
    }
  }
  return best;
}

const compareBigInt = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);

const compareSamples = (a: RankSample, b: RankSample): number =>
  compareBigInt(a.timestampNs, b.timestampNs) || a.pid - b.pid || (a.host < b.host ? -1 : a.host > b.host ? 1 : 0);

/** Summary of one rank's samples for the rules, of bounded size. */
export type RankSummary = StoredFeatures["ranks"]["ranks"][number]["summary"];

function firstSpike({ baseNs, timeNs, bytes }: RankColumns): RankSummary["spike"] {
  let peak = 0;
  for (let i = 0; i < bytes.length; i++) peak = Math.max(peak, bytes[i]!);
  const needed = Math.max(MIN_SPIKE_BYTES, Math.trunc(SPIKE_SHARE * peak));
  let delta = 0;
  let rises = 0;
  for (let i = 1; i < bytes.length; i++) {
    const rise = bytes[i]! - bytes[i - 1]!;
    if (rise <= 0) {
      delta = 0;
      rises = 0;
      continue;
    }
    delta += rise;
    rises++;
    if (delta >= needed) return { at: baseNs + BigInt(timeNs[i]!), delta, rises };
  }
  return null;
}

/** Samples of one rank, ascending in time. */
export interface RankColumns {
  /** Unix nanoseconds of time 0. */
  readonly baseNs: bigint;
  /** Whole nanoseconds. */
  readonly timeNs: ArrayLike<number>;
  readonly bytes: ArrayLike<number>;
}

/**
 * One rank's part of the cross-rank rules; null without samples.
 * @param exact maximum number of intervals that are kept exactly
 */
export function summarizeRank(rank: number, columns: RankColumns, exact: number): RankSummary | null {
  const { baseNs, timeNs } = columns;
  if (timeNs.length === 0) return null;
  const intervals: number[] = [];
  for (let i = 1; i < timeNs.length; i++) {
    const interval = timeNs[i]! - timeNs[i - 1]!;
    if (interval > 0) intervals.push(interval);
  }
  return {
    rank,
    samples: timeNs.length,
    firstNs: baseNs + BigInt(timeNs[0]!),
    spike: firstSpike(columns),
    intervals: medianSketch(intervals, exact),
  };
}

/** Samples of one rank as columns, sorted by time. Exact for 104 days. */
function columnsOf(samples: readonly RankSample[]): RankColumns {
  const ordered = samples.every((sample, i) => i === 0 || sample.timestampNs > samples[i - 1]!.timestampNs)
    ? samples
    : [...samples].sort(compareSamples);
  const baseNs = ordered[0]?.timestampNs ?? 0n;
  return {
    baseNs,
    timeNs: Float64Array.from(ordered, ({ timestampNs }) => Number(timestampNs - baseNs)),
    bytes: Float64Array.from(ordered, ({ deviceUsed }) => deviceUsed),
  };
}

/** Facts about the samples as a whole. */
export interface RankClaims {
  readonly jobId: string | null;
  /** World size of most samples; 1 when none has a larger one. */
  readonly worldSize: number;
  readonly notes: readonly string[];
  /** Offset that is subtracted from each rank's clock; absent = onto the first sample of rank 0 (or of the lowest). */
  readonly offsets?: ReadonlyMap<number, bigint>;
}

/** Distance of each rank's first sample from that of rank 0, or of the lowest rank without one; nanoseconds. */
function firstSampleOffsets(summaries: readonly RankSummary[]): ReadonlyMap<number, bigint> {
  const lowest = summaries.reduce<RankSummary | null>(
    (best, one) => (best === null || one.rank < best.rank ? one : best),
    null,
  );
  return new Map(summaries.map(({ rank, firstNs }) => [rank, firstNs - (lowest?.firstNs ?? firstNs)]));
}

/**
 * Which rank was first when several ranks' device memory jumped, by Stormlog's rules: the onset is the second rank's
 * spike on the common clock, and ranks at or before it are the suspects. The order of the summaries does not matter.
 */
export function combineRanks(summaries: readonly RankSummary[], claims: RankClaims): RanksAnalysis {
  const notes = [...claims.notes];
  if (summaries.length === 0) {
    notes.push("No sample telemetry events were available for distributed analysis.");
    return emptyRanks(notes);
  }
  const all = [...summaries].sort((a, b) => a.rank - b.rank);
  const ranks = all.map(({ rank }) => rank);
  const worldSize = Math.max(claims.worldSize, ranks.at(-1)! + 1);
  const missing = missingRanks(ranks, worldSize);
  const interval = medianOfSketches(all.map(({ intervals }) => intervals));
  const offsets = claims.offsets ?? firstSampleOffsets(all);
  const offsetOf = (rank: number): bigint => offsets.get(rank) ?? 0n;
  const far = ranks.filter((rank) => {
    const offset = offsetOf(rank);
    return interval > 0n && (offset < 0n ? -offset : offset) > LARGE_OFFSET_INTERVALS * interval;
  });
  const base = {
    job_id: claims.jobId,
    world_size: worldSize,
    participating_ranks: ranks,
    missing_ranks: missing,
    rank_sample_counts: Object.fromEntries(all.map(({ rank, samples }) => [String(rank), samples])),
    alignment_offsets_ns: Object.fromEntries(ranks.map((rank) => [String(rank), String(offsetOf(rank))])),
  };
  if (missing.length > 0) notes.push(`Missing rank data for ranks: ${listed(missing)}.`);
  if (far.length > 0) notes.push(`Large clock offsets were aligned for ranks: ${listed(far)}.`);
  if (ranks.length < 2) {
    notes.push("At least two ranks are required for cross-rank first-cause analysis.");
    return { ...base, cluster_onset_timestamp_ns: null, first_cause_suspects: [], notes };
  }
  const candidates = all
    .flatMap(({ rank, spike }): Candidate[] =>
      spike === null ? [] : [{ ...spike, rank, aligned: spike.at - offsetOf(rank) }],
    )
    .sort((a, b) => compareBigInt(a.aligned, b.aligned) || b.delta - a.delta || a.rank - b.rank);
  const second = candidates[1];
  if (!second) {
    notes.push(
      candidates.length === 0
        ? "No qualifying cross-rank spikes were detected."
        : "Only one rank produced a qualifying spike; confidence is limited.",
    );
    return { ...base, cluster_onset_timestamp_ns: null, first_cause_suspects: suspectsOf(candidates, null), notes };
  }
  const onset = second.aligned;
  const trusted = missing.length === 0 && all.every(({ samples }) => samples >= 2);
  return {
    ...base,
    cluster_onset_timestamp_ns: String(onset),
    first_cause_suspects: suspectsOf(candidates, { onset, trusted, interval }),
    notes,
  };
}

/**
 * The same over samples of all ranks, each rank's clock shifted so that first samples coincide.
 * @param ignoredOthers whether the source also contained events that are not samples
 */
export function crossRank(allSamples: readonly RankSample[], ignoredOthers: boolean): RanksAnalysis {
  const notes = ignoredOthers ? ["Ignored non-sample events during cross-rank analysis."] : [];
  const jobId = mostCommon(allSamples, (sample) => sample.jobId || null);
  const samples = jobId === null ? allSamples : allSamples.filter((sample) => sample.jobId === jobId);
  const byRank = groupBy(samples, ({ rank }) => rank);
  const summaries = [...byRank].flatMap(
    ([rank, own]) => summarizeRank(rank, columnsOf(own), Number.POSITIVE_INFINITY) ?? [],
  );
  const worldSize = mostCommon(samples, (sample) => (sample.worldSize > 1 ? sample.worldSize : null)) ?? 1;
  return combineRanks(summaries, { jobId, worldSize, notes });
}

interface Onset {
  readonly onset: bigint;
  readonly trusted: boolean;
  readonly interval: bigint;
}

function suspectsOf(candidates: readonly Candidate[], cluster: Onset | null): FirstCauseSuspect[] {
  const earliest = candidates[0];
  if (!earliest) return [];
  const onset = cluster?.onset ?? earliest.aligned;
  const suspects = candidates.filter((candidate) => candidate.aligned <= onset);
  const tied = candidates.filter((candidate) => candidate.aligned === earliest.aligned).length > 1;
  return suspects.map((candidate) => {
    const lead = onset - candidate.aligned;
    const first = candidate.aligned === earliest.aligned;
    const clear = !tied && cluster !== null && lead >= cluster.interval;
    const confidence = !cluster?.trusted || !first ? "low" : clear ? "high" : "medium";
    return {
      rank: candidate.rank,
      first_spike_timestamp_ns: String(candidate.at),
      aligned_first_spike_timestamp_ns: String(candidate.aligned),
      peak_delta_bytes: candidate.delta,
      spike_window_samples: candidate.rises,
      lead_over_cluster_onset_ns: String(lead),
      confidence,
      evidence: {
        device_used_delta_bytes: candidate.delta,
        supporting_ranks_at_or_before_onset: suspects.length,
      },
    };
  });
}

function emptyRanks(notes: readonly string[]): RanksAnalysis {
  return {
    job_id: null,
    world_size: 1,
    participating_ranks: [],
    missing_ranks: [],
    rank_sample_counts: {},
    alignment_offsets_ns: {},
    cluster_onset_timestamp_ns: null,
    first_cause_suspects: [],
    notes,
  };
}
