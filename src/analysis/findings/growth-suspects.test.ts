import { describe, expect, test } from "vitest";
import { KIB, MIB } from "../../core/units.ts";
import type { Recording, SampleTable } from "../../telemetry/recording/model.ts";
import { analyze } from "../analyze.ts";

const STEPS = 400;

function rankTable(rank: number, bytesPerStep: number, from = 0, steps = STEPS): SampleTable {
  const index = Float64Array.from({ length: steps }, (_, i) => i);
  return {
    rank,
    device: "host",
    timeNs: index.map((i) => i * 1e7),
    steps: index.map((i) => i + 1),
    columns: { allocated: index.map((i) => 200 * MIB + Math.max(0, i - from) * bytesPerStep + (i % 3) * 512) },
    highwater: new Set(),
  };
}

function recording(tables: readonly SampleTable[], worldSize: number): Recording {
  return {
    epochNs: 1_700_000_000_000_000_000n,
    tables,
    peaks: [],
    marks: [],
    events: null,
    worldSize,
    missing: {},
    info: null,
  };
}

describe("suspects by growth", () => {
  test("name the one rank of four that leaks slowly", () => {
    const { ranks } = analyze(
      recording(
        [0, 1, 2, 3].map((rank) => rankTable(rank, rank === 2 ? 64 * KIB : 0)),
        4,
      ),
    );
    expect(ranks.missing_ranks).toEqual([]);
    expect(ranks.first_cause_suspects.map(({ rank, confidence }) => [rank, confidence])).toEqual([[2, "high"]]);
    expect(ranks.first_cause_suspects[0]?.peak_delta_bytes).toBeGreaterThan(20 * MIB);
  });

  test("list the rank that began to leak first before the second", () => {
    const { ranks } = analyze(recording([rankTable(0, 96 * KIB, 120), rankTable(1, 96 * KIB, 10)], 2));
    expect(ranks.first_cause_suspects.map(({ rank, confidence }) => [rank, confidence])).toEqual([
      [1, "medium"],
      [0, "low"],
    ]);
    expect(BigInt(ranks.first_cause_suspects[0]?.lead_over_cluster_onset_ns ?? 0)).toBeGreaterThan(500_000_000n);
  });

  test("name a missing rank and lower the confidence", () => {
    const { ranks } = analyze(recording([rankTable(0, 0), rankTable(2, 96 * KIB)], 3));
    expect(ranks.missing_ranks).toEqual([1]);
    expect(ranks.first_cause_suspects.map(({ rank, confidence }) => [rank, confidence])).toEqual([[2, "medium"]]);
  });

  test("are empty without growth", () => {
    const { ranks } = analyze(recording([rankTable(0, 0), rankTable(1, 0)], 2));
    expect(ranks.first_cause_suspects).toEqual([]);
  });
});
