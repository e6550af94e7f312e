import { describe, expect, test } from "vitest";
import { KIB, MIB } from "../../core/units.ts";
import { prng } from "../../stats/testing/prng.ts";
import type { Recording, SampleTable } from "../../telemetry/recording/model.ts";
import { analyze } from "../analyze.ts";
import type { AnalysisDocument } from "../series/document.ts";

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

const namesOf = (document: AnalysisDocument) =>
  (document.ranks.suspects ?? []).map(({ rank, confidence, basis }) => [rank, confidence, basis]);

describe("suspects among ranks", () => {
  test("suspects among ranks name the one rank of four that leaks slowly", () => {
    const document = analyze(
      recording(
        [0, 1, 2, 3].map((rank) => rankTable(rank, rank === 2 ? 64 * KIB : 0)),
        4,
      ),
    );
    expect(document.ranks.missing_ranks).toEqual([]);
    expect(namesOf(document)).toEqual([[2, "high", "class"]]);
    expect(document.ranks.suspects?.[0]?.growth_bytes).toBeGreaterThan(20 * MIB);
    expect(document.ranks.first_cause_suspects).toEqual([]);
    expect(document.findings.find(({ classification }) => classification === "rank_suspect")).toMatchObject({
      rank: 2,
      severity: "info",
    });
  });

  test("suspects among ranks list the rank that began to leak first before the second", () => {
    const document = analyze(recording([rankTable(0, 96 * KIB, 120), rankTable(1, 96 * KIB, 10)], 2));
    expect(namesOf(document)).toEqual([
      [1, "medium", "class"],
      [0, "low", "class"],
    ]);
    expect(document.ranks.suspects?.map(({ onset_step }) => Math.round((onset_step ?? 0) / 30))).toEqual([0, 4]);
  });

  test("suspects have medium confidence where a rank is missing", () => {
    const document = analyze(recording([rankTable(0, 0), rankTable(2, 96 * KIB)], 3));
    expect(document.ranks.missing_ranks).toEqual([1]);
    expect(namesOf(document)).toEqual([[2, "medium", "class"]]);
  });

  test("the list of suspects is empty without growth and where every rank leaks alike", () => {
    expect(namesOf(analyze(recording([rankTable(0, 0), rankTable(1, 0)], 2)))).toEqual([]);
    const alike = [0, 1, 2, 3].map((rank) => rankTable(rank, 96 * KIB));
    expect(namesOf(analyze(recording(alike, 4)))).toEqual([]);
  });
});

/** Eight ranks that warm up each in its own way, one of which may leak 60 MiB from 40 % of the run on. */
function eight(seed: number, axis: "steps" | "clock" | "both", leaks: number | null): Recording {
  const random = prng(seed).uniform;
  const n = 200;
  const index = Float64Array.from({ length: n }, (_, i) => i);
  const tables = Array.from({ length: 8 }, (_, rank): SampleTable => {
    const [end, size] = [0.1 + 0.3 * random(), (800 + 300 * random()) * MIB];
    const shared = { rank, device: `cuda:${rank}`, highwater: new Set<never>() };
    const started = 1e8 * random();
    return {
      ...shared,
      timeNs: axis === "steps" ? null : index.map((i) => Math.round(started + i * 1e8)),
      steps: axis === "clock" ? null : index.map((i) => i + 1),
      columns: {
        allocated: index.map((i) => {
          const warm = size * Math.min(1, i / n / end) + 4 * MIB * random();
          return 1000 * MIB + warm + (rank === leaks ? 60 * MIB * Math.max(0, (i / n - 0.4) / 0.6) : 0);
        }),
      },
    };
  });
  const epochNs = axis === "steps" ? null : 1_700_000_000_000_000_000n;
  return { ...recording(tables, 8), epochNs };
}

describe.each(["steps", "clock", "both"] as const)("eight ranks that warm up, with %s", (axis) => {
  test("the rank of eight that leaks is named with its onset", () => {
    for (const seed of [1, 2, 3]) {
      const document = analyze(eight(seed, axis, (3 * seed) % 8));
      expect(namesOf(document)).toEqual([[(3 * seed) % 8, "high", "departure"]]);
      const [suspect] = document.ranks.suspects ?? [];
      const onset = suspect?.onset_step ?? 10 * (suspect?.onset_s ?? Number.NaN);
      expect(onset).toBeGreaterThan(60);
      expect(onset).toBeLessThan(130);
      expect(suspect?.onset_s === null).toBe(axis !== "clock");
    }
  });

  test("the list of suspects among eight ranks is empty where no rank leaks", () => {
    for (const seed of [4, 5, 6]) expect(namesOf(analyze(eight(seed, axis, null)))).toEqual([]);
  });
});
