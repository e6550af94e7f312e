import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { analyze, combineFeatures } from "../analysis/analyze.ts";
import { extractFeatures } from "../analysis/features.ts";
import type { AnalysisDocument } from "../analysis/series/document.ts";
import { draws } from "../core/testing/draws.ts";
import { SHARD_LIMITS } from "../report/bundle/features-document.ts";
import { mergeRecordings } from "../telemetry/reading/merge.ts";
import type { Recording } from "../telemetry/recording/model.ts";
import { writeRunFiles } from "../telemetry/run-directory.ts";
import { mergeBundles } from "./merge-bundles.ts";
import { job, recordingOf } from "./testing/rank-recordings.ts";

const options = { horizon: null, phases: [] };
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
  it("ranks read one after the other have the findings, series and suspects of ranks analysed together", () => {
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
      { numRuns: draws(150) },
    );
  });

  it("ranks read one after the other give the same bytes in any order", () => {
    fc.assert(
      fc.property(job, fc.array(fc.nat(), { minLength: 6, maxLength: 6 }), (recordings, keys) => {
        expect(JSON.stringify(streamed(shuffled(recordings, keys)))).toBe(JSON.stringify(streamed(recordings)));
      }),
      { numRuns: draws(100) },
    );
  });

  it("ranks read one after the other give the same series and diagnosis with one wrong clock", () => {
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
      { numRuns: draws(60) },
    );
  });
});

describe("a long recording", () => {
  it("a long recording is reduced, and its analysis still names the rank that jumped first", () => {
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
        verification: "some",
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
