import { describe, expect, it } from "vitest";
import type { TelemetryEvent } from "../../telemetry/recording/model.ts";
import { eventOf, REPLAY_START_NS } from "../testing/recordings.ts";
import { attributeCollectives, isCollectiveMarker } from "./collective.ts";

const at = (ms: number): bigint => REPLAY_START_NS + BigInt(ms) * 1_000_000n;

function replay(withMarkers: boolean): TelemetryEvent[] {
  return [0, 1, 2, 3].flatMap((rank) => {
    const common = {
      rank,
      localRank: rank,
      worldSize: 4,
      allocatorAllocated: 1.9e9,
      allocatorReserved: 2e9,
      deviceTotal: 17179869184,
    };
    const samples = Array.from({ length: 12 }, (_, k) =>
      eventOf({ ...common, timestampNs: at(2 * rank + 100 * k), deviceUsed: k === 6 ? 3.6e9 : 2.04e9 }),
    );
    const marker = eventOf({
      ...common,
      timestampNs: at(2 * rank + 610),
      eventType: "collective",
      context: "NCCL all_reduce phase",
      metadata: { phase: "communication.collective" },
      deviceUsed: 2e9,
    });
    return withMarkers ? [...samples, marker] : samples;
  });
}

describe("collective attribution", () => {
  it("attributes a synchronous spike beside a marker to communication (k01)", () => {
    const attributions = attributeCollectives(replay(true));
    expect(attributions).toHaveLength(4);
    attributions.forEach((attribution, rank) => {
      expect(attribution).toEqual({
        rank,
        classification: "collective_confident",
        confidence: 1,
        startNs: at(480 + 2 * rank),
        endNs: at(730 + 2 * rank),
        reasonCodes: [
          "allocator_device_divergence",
          "cross_rank_synchrony",
          "gap_spike_statistical_outlier",
          "marker_collective_token",
          "marker_spike_overlap",
        ],
        evidence: {
          marker_hits: 1,
          synchronized_ranks: 4,
          expected_world_size: 4,
          synchrony_ratio: 1,
          peak_gap_bytes: 1600000000,
          peak_gap_ratio: 0.093132,
          robust_zscore: 3.1754,
        },
      });
    });
  });

  it("collective attribution has a lower confidence without a marker", () => {
    const attributions = attributeCollectives(replay(false));
    expect(attributions.map((a) => [a.classification, a.confidence])).toEqual(
      [0, 1, 2, 3].map(() => ["collective_suspect", 0.51]),
    );
  });

  it("ignores a spike of one rank without a marker, and too few samples", () => {
    expect(attributeCollectives(replay(false).filter((event) => event.rank === 0))).toEqual([]);
    expect(attributeCollectives(replay(true).slice(0, 5))).toEqual([]);
    expect(attributeCollectives([])).toEqual([]);
  });

  it("finds tokens in values, never in keys", () => {
    const event = eventOf({ timestampNs: 0n });
    expect(isCollectiveMarker({ ...event, metadata: { nccl: "idle" } })).toBe(false);
    expect(isCollectiveMarker({ ...event, metadata: { deep: [{ op: "AllReduce" }] } })).toBe(true);
  });
});
