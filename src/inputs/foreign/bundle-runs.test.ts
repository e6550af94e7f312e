import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { writeParquet } from "../../telemetry/formats/parquet.ts";
import { SAMPLES_FILE } from "../../telemetry/recording/run-files.ts";
import { recording } from "../../telemetry/testing/recordings.ts";
import { readTelemetry } from "./read.ts";

/** A bundle with runs of these names. */
function bundle(...names: string[]): string {
  const made = mkdtempSync(path.join(tmpdir(), "bundle-runs-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  for (const name of names) {
    const directory = path.join(made, "runs", name);
    mkdirSync(directory, { recursive: true });
    writeParquet(path.join(directory, SAMPLES_FILE), recording());
  }
  return made;
}

async function runsOf(directory: string): Promise<readonly string[]> {
  const telemetry = await readTelemetry(directory);
  return telemetry.kind === "runs" ? telemetry.runs.map(({ name }) => name) : [];
}

describe("a bundle's runs", () => {
  it("a bundle's runs are those of the candidate, in order, without base and attribution runs", async () => {
    const names = ["train/2", "train/10", "train/1", "train/base-1", "train/attribution-1", "train/base-2/rank-0001"];
    expect(await runsOf(bundle(...names))).toEqual(["train/1", "train/2", "train/10"]);
  });

  it("a bundle's runs are the base runs where it has no candidate runs", async () => {
    expect(await runsOf(bundle("train/base-1"))).toEqual(["train/base-1"]);
  });
});
