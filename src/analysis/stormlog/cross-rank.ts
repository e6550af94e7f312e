import { MIB } from "../../core/units.ts";
import type { FirstCauseSuspect, RanksAnalysis } from "../document.ts";
import { medianInPlace } from "../order-statistics.ts";

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

interface Candidate {
  readonly rank: number;
  readonly at: bigint;
  readonly aligned: bigint;
  readonly delta: number;
  readonly rises: number;
}

/** The value most samples have, of those that have one. */
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

/** Median of the positive intervals between neighbouring samples of each rank, nanoseconds; 0 when there is none. */
function medianInterval(byRank: ReadonlyMap<number, readonly RankSample[]>): bigint {
  const intervals: number[] = [];
  for (const samples of byRank.values()) {
    for (let i = 1; i < samples.length; i++) {
      // Exact below 104 days; as a number it sorts a hundred times faster.
      const interval = Number(samples[i]!.timestampNs - samples[i - 1]!.timestampNs);
      if (interval > 0) intervals.push(interval);
    }
  }
  return intervals.length === 0 ? 0n : BigInt(Math.floor(medianInPlace(Float64Array.from(intervals))));
}

/** The first time that consecutive rises of device memory add up to a tenth of the rank's peak, and at least 64 MiB. */
function firstSpike(rank: number, samples: readonly RankSample[], offset: bigint): Candidate | null {
  const peak = samples.reduce((max, sample) => Math.max(max, sample.deviceUsed), 0);
  const needed = Math.max(MIN_SPIKE_BYTES, Math.trunc(SPIKE_SHARE * peak));
  let delta = 0;
  let rises = 0;
  for (let i = 1; i < samples.length; i++) {
    const rise = samples[i]!.deviceUsed - samples[i - 1]!.deviceUsed;
    if (rise <= 0) {
      delta = 0;
      rises = 0;
      continue;
    }
    delta += rise;
    rises++;
    if (delta >= needed) {
      const at = samples[i]!.timestampNs;
      return { rank, at, aligned: at - offset, delta, rises };
    }
  }
  return null;
}

/**
 * Which rank was first when several ranks' device memory jumped, by Stormlog's rules: each rank's clock is shifted so that
 * first samples coincide; the onset is the second rank's spike; ranks at or before it are the suspects.
 * @param ignoredOthers whether the source also held events that are not samples
 */
export function crossRank(allSamples: readonly RankSample[], ignoredOthers: boolean): RanksAnalysis {
  const notes: string[] = [];
  if (ignoredOthers) notes.push("Ignored non-sample events during cross-rank analysis.");
  const jobId = mostCommon(allSamples, (sample) => sample.jobId || null);
  const samples = jobId === null ? allSamples : allSamples.filter((sample) => sample.jobId === jobId);
  if (samples.length === 0) {
    notes.push("No sample telemetry events were available for distributed analysis.");
    return emptyRanks(notes);
  }
  const byRank = new Map<number, RankSample[]>();
  for (const sample of samples) {
    const own = byRank.get(sample.rank);
    if (own) own.push(sample);
    else byRank.set(sample.rank, [sample]);
  }
  for (const own of byRank.values()) {
    if (own.some((sample, i) => i > 0 && sample.timestampNs <= own[i - 1]!.timestampNs)) own.sort(compareSamples);
  }
  const ranks = [...byRank.keys()].sort((a, b) => a - b);
  const claimed = mostCommon(samples, (sample) => (sample.worldSize > 1 ? sample.worldSize : null)) ?? 1;
  const worldSize = Math.max(claimed, ranks[ranks.length - 1]! + 1);
  const missing = Array.from({ length: worldSize }, (_, rank) => rank).filter((rank) => !byRank.has(rank));

  const reference = byRank.get(0) ?? byRank.get(ranks[0]!)!;
  const interval = medianInterval(byRank);
  const offsets = new Map(ranks.map((rank) => [rank, byRank.get(rank)![0]!.timestampNs - reference[0]!.timestampNs]));
  const far = ranks.filter((rank) => {
    const offset = offsets.get(rank)!;
    return interval > 0n && (offset < 0n ? -offset : offset) > LARGE_OFFSET_INTERVALS * interval;
  });
  const base = {
    job_id: jobId,
    world_size: worldSize,
    participating_ranks: ranks,
    missing_ranks: missing,
    rank_sample_counts: Object.fromEntries(ranks.map((rank) => [String(rank), byRank.get(rank)!.length])),
    alignment_offsets_ns: Object.fromEntries(ranks.map((rank) => [String(rank), String(offsets.get(rank)!)])),
  };
  if (missing.length > 0) notes.push(`Missing rank data for ranks: ${missing.join(", ")}.`);
  if (far.length > 0) notes.push(`Large clock offsets were aligned for ranks: ${far.join(", ")}.`);
  if (ranks.length < 2) {
    notes.push("At least two ranks are required for cross-rank first-cause analysis.");
    return { ...base, cluster_onset_timestamp_ns: null, first_cause_suspects: [], notes };
  }
  const candidates = ranks
    .map((rank) => firstSpike(rank, byRank.get(rank)!, offsets.get(rank)!))
    .filter((candidate) => candidate !== null)
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
  const sparse = ranks.some((rank) => byRank.get(rank)!.length < 2);
  const trusted = missing.length === 0 && !sparse;
  return {
    ...base,
    cluster_onset_timestamp_ns: String(onset),
    first_cause_suspects: suspectsOf(candidates, { onset, trusted, interval }),
    notes,
  };
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
