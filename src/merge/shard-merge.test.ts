import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { analyze, combineFeatures } from "../analysis/analyze.ts";
import type { AnalysisDocument } from "../analysis/document.ts";
import { extractFeatures } from "../analysis/features.ts";
import { resolveOptions } from "../analysis/options.ts";
import { mergeRecordings } from "../telemetry/recording/merge.ts";
import type { Recording } from "../telemetry/recording/model.ts";
import { writeRunFiles } from "../telemetry/recording/run-directory.ts";
import { recordingInfo } from "../telemetry/testing/recordings.ts";
import { mergeBundles } from "./merge-bundles.ts";
import { SHARD_LIMITS } from "./shard-read.ts";

const MIB = 2 ** 20;
const EPOCH_NS = 1_700_000_000_000_000_000n;

interface RankModel {
  /** Samples. */
  readonly length: number;
  /** Sample at which device memory jumps; null = never. */
  readonly jump: number | null;
  readonly jumpMib: number;
  readonly leakKib: number;
  /** Error of the host's clock, and start of the rank, ms. */
  readonly clockMs: number;
  readonly beganMs: number;
  readonly steps: boolean;
  readonly levelMib: number;
}

const rankModel: fc.Arbitrary<RankModel> = fc.record({
  length: fc.integer({ min: 2, max: 160 }),
  jump: fc.option(fc.integer({ min: 1, max: 150 })),
  jumpMib: fc.integer({ min: 10, max: 900 }),
  leakKib: fc.oneof(fc.constant(0), fc.integer({ min: 200, max: 4000 })),
  clockMs: fc.oneof(fc.constant(0), fc.integer({ min: -7_200_000, max: 7_200_000 })),
  beganMs: fc.nat({ max: 900 }),
  steps: fc.boolean(),
  levelMib: fc.integer({ min: 100, max: 4000 }),
});

/** The recording of one rank. The steps of all ranks end at the same time, independent of their clocks. */
function recordingOf(one: RankModel, rank: number, world: number): Recording {
  const { length, jump, jumpMib, leakKib, clockMs, beganMs, steps, levelMib } = one;
  const rows = Float64Array.from({ length }, (_, i) => i);
  const used = rows.map((i) => (levelMib + (jump !== null && i >= jump ? jumpMib : 0)) * MIB + i * leakKib * 1024);
  const epochNs = EPOCH_NS + BigInt(clockMs + beganMs) * 1_000_000n;
  return {
    epochNs,
    tables: [
      {
        rank,
        device: "cuda:0",
        timeNs: rows.map((i) => i * 50e6 + ((i * 7919 + rank) % 13) * 1000),
        highwater: new Set(),
        steps: steps ? rows.map((i) => i + Math.floor(beganMs / 50)) : null,
        columns: { allocated: used, used, total: rows.map(() => 16 * 1024 * MIB) },
      },
    ],
    peaks: [],
    marks: [],
    events: null,
    worldSize: world,
    missing: {},
    info: recordingInfo({
      session: "slurm-7.0",
      clock: { monotonic_start_ns: String(rank), epoch_ns: String(epochNs), duration_s: 2 },
      identity: { rank, local_rank: 0, world_size: world, job_id: "7", host: `node${rank % 3}`, pid: 40 + rank },
    }),
  };
}

const job = fc
  .tuple(fc.array(rankModel, { minLength: 2, maxLength: 6 }), fc.nat({ max: 2 }))
  .map(([ranks, missing]) => ranks.map((one, rank) => recordingOf(one, rank, ranks.length + missing)));

const options = resolveOptions({});
const streamed = (recordings: readonly Recording[]): AnalysisDocument =>
  combineFeatures(
    recordings.map((one) => extractFeatures(one, options, SHARD_LIMITS)),
    options,
  );

const shuffled = <T>(items: readonly T[], keys: readonly number[]): T[] =>
  items
    .map((item, at) => ({ item, key: keys[at % keys.length] ?? 0 }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);

describe("ranks that are read one after the other", () => {
  it("have the findings, series and suspects of ranks that are analysed together", () => {
    fc.assert(
      fc.property(job, (recordings) => {
        const whole = analyze(mergeRecordings(recordings));
        const parts = streamed(recordings);
        expect(parts.ranks).toEqual(whole.ranks);
        const found = ({ findings }: AnalysisDocument) =>
          findings.map(({ classification, rank, metric }) => [classification, rank, metric]);
        expect(found(parts)).toEqual(found(whole));
        expect(parts.diagnosis).toEqual(whole.diagnosis);
        expect(parts.series.map((one) => [one.rank, one.metric, one.class, one.peak_bytes])).toEqual(
          whole.series.map((one) => [one.rank, one.metric, one.class, one.peak_bytes]),
        );
      }),
      { numRuns: 150 },
    );
  });

  it("give the same bytes in any order", () => {
    fc.assert(
      fc.property(job, fc.array(fc.nat(), { minLength: 6, maxLength: 6 }), (recordings, keys) => {
        expect(JSON.stringify(streamed(shuffled(recordings, keys)))).toBe(JSON.stringify(streamed(recordings)));
      }),
      { numRuns: 100 },
    );
  });

  it("give the same series and diagnosis with one wrong clock", () => {
    fc.assert(
      fc.property(
        job,
        fc.integer({ min: -36_000_000, max: 36_000_000 }),
        fc.nat({ max: 5 }),
        (recordings, byMs, at) => {
          const wrong = recordings.map((one, i) =>
            i === at % recordings.length ? { ...one, epochNs: (one.epochNs ?? 0n) + BigInt(byMs) * 1_000_000n } : one,
          );
          const judged = ({ series, diagnosis }: AnalysisDocument) => JSON.stringify([series, diagnosis]);
          expect(judged(streamed(wrong))).toBe(judged(streamed(recordings)));
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("a long recording", () => {
  it("is reduced, and still names the rank that jumped first", () => {
    const long = (rank: number, jump: number) =>
      recordingOf(
        { length: 9000, jump, jumpMib: 900, leakKib: 0, clockMs: 0, beganMs: 0, steps: true, levelMib: 2000 },
        rank,
        2,
      );
    const recordings = [long(0, 5000), long(1, 4900)];
    const kept = extractFeatures(recordings[0] ?? long(0, 1), options, SHARD_LIMITS);
    expect(kept.stepPeaks.ranks.get(0)?.peaks.size).toBeLessThanOrEqual(SHARD_LIMITS.steps);
    const [whole, parts] = [analyze(mergeRecordings(recordings)), streamed(recordings)];
    expect(parts.ranks.first_cause_suspects).toEqual(whole.ranks.first_cause_suspects);
    expect(parts.ranks.first_cause_suspects[0]).toMatchObject({ rank: 1, confidence: "high" });
  });
});

describe("a merged job on disk", () => {
  let root: string;
  beforeAll(() => {
    root = mkdtempSync(path.join(tmpdir(), "shard-merge-"));
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  it("gives the same report in any order of its recordings", async () => {
    const directories: string[] = [];
    for (let rank = 0; rank < 5; rank++) {
      const one = {
        length: 60,
        jump: 20 + rank,
        jumpMib: 300,
        leakKib: 0,
        clockMs: rank * 1000,
        beganMs: 0,
        steps: true,
        levelMib: 1000,
      };
      const directory = path.join(root, `s/rank-000${rank}`);
      mkdirSync(directory, { recursive: true });
      await writeRunFiles(directory, recordingOf(one, rank, 5));
      directories.push(directory);
    }
    const merged = async (given: readonly string[], name: string) => {
      const again = { baselines: null, budgets: [], horizon: null, root, env: {} };
      const request = {
        directories: given,
        bundle: path.join(root, name),
        expected: null,
        unjudged: "fail",
        again,
      } as const;
      const { report } = await mergeBundles({ ...request, argv: ["merge"], now: () => new Date(0) });
      return JSON.stringify(report, (_, value) => (value instanceof Float64Array ? [...value] : value));
    };
    const first = await merged(directories, "a");
    expect(await merged([...directories].reverse(), "b")).toBe(first);
    expect(await merged([path.join(root, "s")], "c")).toBe(first);
    expect(await merged([directories[3] ?? "", path.join(root, "s")], "d")).toBe(first);
  });
});
