import { describe, expect, it } from "vitest";
import { REPLAY_START_NS } from "../testing/recordings.ts";
import { crossRank, type RankSample } from "./cross-rank.ts";

const B = 1073741824;
const T0 = REPLAY_START_NS;

function samplesOf(worldSize: number, ranks: readonly (readonly [number, number, readonly number[]])[]): RankSample[] {
  return ranks.flatMap(([rank, offsetMs, used]) =>
    used.map((deviceUsed, k) => ({
      rank,
      timestampNs: T0 + BigInt(offsetMs + 100 * k) * 1_000_000n,
      pid: 100 + rank,
      host: "node",
      jobId: "job-28",
      worldSize,
      deviceUsed,
    })),
  );
}

const ms = (count: number): string => String(T0 + BigInt(count) * 1_000_000n);

describe("cross-rank first cause", () => {
  it("names the rank that jumped first, with high confidence when it leads by an interval (c01)", () => {
    const ranks = crossRank(
      samplesOf(4, [
        [2, 40, [B, B, 1481763717, 1503238553]],
        [0, 0, [B, B, B, 1438814044]],
        [1, 20, [B, B, B, 1395864371]],
        [3, 10, [B, B, B, 1374389534]],
      ]),
      false,
    );
    expect(ranks.cluster_onset_timestamp_ns).toBe("1700000000300000000");
    expect(ranks.missing_ranks).toEqual([]);
    expect(ranks.rank_sample_counts).toEqual({ "0": 4, "1": 4, "2": 4, "3": 4 });
    expect(ranks.alignment_offsets_ns).toEqual({ "0": "0", "1": "20000000", "2": "40000000", "3": "10000000" });
    expect(ranks.notes).toEqual([]);
    const rows = ranks.first_cause_suspects.map((s) => [
      s.rank,
      s.peak_delta_bytes,
      s.first_spike_timestamp_ns,
      s.aligned_first_spike_timestamp_ns,
      s.lead_over_cluster_onset_ns,
      s.confidence,
    ]);
    expect(rows).toEqual([
      [2, 408021893, ms(240), ms(200), "100000000", "high"],
      [0, 365072220, ms(300), ms(300), "0", "low"],
      [1, 322122547, ms(320), ms(300), "0", "low"],
      [3, 300647710, ms(310), ms(300), "0", "low"],
    ]);
    for (const suspect of ranks.first_cause_suspects) {
      expect(suspect.spike_window_samples).toBe(1);
      expect(suspect.evidence.supporting_ranks_at_or_before_onset).toBe(4);
    }
  });

  it("reports no onset when nothing jumps far enough (c02)", () => {
    const ranks = crossRank(
      samplesOf(2, [
        [0, 0, [B, 1127428915]],
        [1, 200, [B, 1127428915]],
      ]),
      false,
    );
    expect(ranks.alignment_offsets_ns).toEqual({ "0": "0", "1": "200000000" });
    expect(ranks.cluster_onset_timestamp_ns).toBeNull();
    expect(ranks.first_cause_suspects).toEqual([]);
    expect(ranks.notes).toEqual(["No qualifying cross-rank spikes were detected."]);
  });

  it("names no suspect while a rank is missing (c03)", () => {
    const ranks = crossRank(
      samplesOf(4, [
        [0, 0, [B, B, 1503238553, 1524713390]],
        [1, 15, [B, B, B, 1417339207]],
        [3, 25, [B, B, B, 1395864371]],
      ]),
      false,
    );
    expect(ranks.missing_ranks).toEqual([2]);
    expect(ranks.cluster_onset_timestamp_ns).toBe("1700000000300000000");
    expect(ranks.first_cause_suspects.map((s) => [s.rank, s.peak_delta_bytes, s.confidence])).toEqual([
      [0, 429496729, "low"],
      [1, 343597383, "low"],
      [3, 322122547, "low"],
    ]);
    expect(ranks.first_cause_suspects[0]?.lead_over_cluster_onset_ns).toBe("100000000");
    expect(ranks.first_cause_suspects[0]?.evidence.supporting_ranks_at_or_before_onset).toBe(3);
    expect(ranks.alignment_offsets_ns).toEqual({ "0": "0", "1": "15000000", "3": "25000000" });
    expect(ranks.notes).toEqual(["Missing rank data for ranks: 2."]);
  });

  it("needs two ranks (c04)", () => {
    const ranks = crossRank(samplesOf(1, [[0, 0, [B, B, 1503238553]]]), false);
    expect(ranks.participating_ranks).toEqual([0]);
    expect(ranks.missing_ranks).toEqual([]);
    expect(ranks.cluster_onset_timestamp_ns).toBeNull();
    expect(ranks.first_cause_suspects).toEqual([]);
    expect(ranks.notes).toEqual(["At least two ranks are required for cross-rank first-cause analysis."]);
  });

  it("finds onset and top suspect of a three-rank replay", () => {
    const level = (jumpAt: number) => Array.from({ length: 40 }, (_, k) => B + (k >= jumpAt ? 280 * 1024 ** 2 : 0));
    const ranks = crossRank(
      samplesOf(3, [
        [0, 0, level(18)],
        [1, 7, level(20)],
        [2, 12, level(23)],
      ]),
      false,
    );
    expect(ranks.cluster_onset_timestamp_ns).toBe("1700000002000000000");
    expect(ranks.first_cause_suspects[0]).toMatchObject({ rank: 0, confidence: "high" });
    expect(ranks.participating_ranks).toEqual([0, 1, 2]);
  });

  it("does not depend on the order of its samples and follows the most common job", () => {
    const samples = samplesOf(2, [
      [0, 0, [B, B, B * 2]],
      [1, 0, [B, B, B, B * 2]],
    ]);
    const stray = { ...samples[0]!, jobId: "other", rank: 5 };
    const expected = crossRank(samples, false);
    expect(crossRank([stray, ...samples.toReversed()], false)).toEqual(expected);
    expect(expected.job_id).toBe("job-28");
  });

  it("returns a result for a source without samples", () => {
    expect(crossRank([], true)).toMatchObject({
      participating_ranks: [],
      notes: [
        "Ignored non-sample events during cross-rank analysis.",
        "No sample telemetry events were available for distributed analysis.",
      ],
    });
  });

  it("does not list all ranks of an implausibly large world size", () => {
    const ranks = crossRank(
      samplesOf(4_000_000_000, [
        [0, 0, [B, B]],
        [3_999_999_999, 0, [B, B]],
      ]),
      false,
    );
    expect(ranks.world_size).toBe(4_000_000_000);
    expect(ranks.missing_ranks.length).toBe(99_999);
    expect(ranks.notes[0]?.length).toBeLessThan(10_000);
    expect(ranks.notes[0]).toMatch(/^Missing rank data for ranks: 1, 2, .* and 98999 more\.$/);
  });
});
