import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll } from "vitest";
import type { RecordingFeatures } from "../../analysis/features.ts";
import type { SeriesAnalysis } from "../../analysis/series/document.ts";
import { FEATURES_FILE, featuresText, parseFeatures, writeFeatures } from "../../report/bundle/features-document.ts";
import type { Recording } from "../../telemetry/recording/model.ts";
import { RECORDING_FILE } from "../../telemetry/recording/run-files.ts";
import { writeRunFiles } from "../../telemetry/run-directory.ts";
import { mergeBundles } from "../merge-bundles.ts";

export const QUIET = {
  length: 160,
  jump: null,
  jumpMib: 10,
  leakKib: 0,
  clockMs: 0,
  beganMs: 0,
  steps: true,
  levelMib: 1000,
};

interface Options {
  readonly verification?: "some" | "all";
  readonly unjudged?: "fail" | "pass";
  readonly expected?: number;
  /** For allocated memory. */
  readonly budgetMib?: number;
}

/** Recordings on disk and their merges, in a directory that is removed after the tests of the calling file. */
export function mergedShards() {
  let root = "";
  let made = 0;
  beforeAll(() => {
    root = mkdtempSync(path.join(tmpdir(), "merged-shards-"));
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  /** The shards of a job, with or without stored features. */
  async function shardsOf(recordings: readonly Recording[], stored = true): Promise<readonly string[]> {
    made += 1;
    const directories = recordings.map((_, rank) => path.join(root, `job-${made}`, `rank-${rank}`));
    for (const [rank, directory] of directories.entries()) {
      mkdirSync(directory, { recursive: true });
      await writeRunFiles(directory, recordings[rank]!, { telemetry: false });
      if (stored) await writeFeatures(directory);
    }
    return directories;
  }

  function merged(directories: readonly string[], options: Options = {}) {
    made += 1;
    const { verification = "some", unjudged = "fail", expected, budgetMib } = options;
    const budgets = budgetMib === undefined ? [] : [{ metric: "allocated", bytes: budgetMib * 2 ** 20 } as const];
    return mergeBundles({
      directories,
      bundle: path.join(root, `merged-${made}`),
      expected: expected === undefined ? null : { kind: "count", count: expected },
      unjudged,
      verification,
      again: { baselines: null, budgets, horizon: null, root, env: {} },
      argv: ["merge"],
      now: () => new Date(0),
    });
  }

  /** Exit status and bundle of a merge, with the codes and messages of its errors. */
  async function refusal(directories: readonly string[], given: Options = {}) {
    const { report, bundleDir } = await merged(directories, given);
    const errors = report.scenarios.flatMap(({ error }) => error ?? []);
    return {
      exit: report.exit_code,
      bundle: bundleDir,
      codes: errors.map(({ code }) => code),
      text: errors.map(({ message }) => message).join("\n"),
    };
  }

  return { shardsOf, merged, refusal };
}

/** Changes one byte of a file. */
export function flip(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}

/** Rewrites the stored features of a directory, which then list its recording.json, as a program could. */
export function rewrite(
  directory: string,
  change: (features: RecordingFeatures) => Partial<RecordingFeatures> = () => ({}),
): void {
  const file = path.join(directory, FEATURES_FILE);
  const answer = parseFeatures(readFileSync(file, "utf8"));
  if (answer.kind !== "read") throw new Error(answer.kind);
  const { stored } = answer;
  const features = { ...stored.features, ...change(stored.features) };
  const recording = readFileSync(path.join(directory, RECORDING_FILE));
  const sha256 = createHash("sha256").update(recording).digest("hex");
  const files = stored.files.map((one) =>
    one.path === RECORDING_FILE ? { ...one, bytes: recording.length, sha256 } : one,
  );
  writeFileSync(file, featuresText({ ...stored, features, files }) ?? "");
}

/** The series of features with other values. */
export const seriesWith =
  (values: Partial<SeriesAnalysis>) =>
  ({ series }: RecordingFeatures): Partial<RecordingFeatures> => ({
    series: series.map((one) => ({ ...one, analysis: { ...one.analysis, ...values } })),
  });
