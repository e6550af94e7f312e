import { execFileSync } from "node:child_process";
import { existsSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import type { Evidence } from "./evidence.ts";

/** Maximum recordings per part: six in all. */
const MAX = { costs: 0, lab: 3, aa: 1, oom: 2, peaks: 0 } as const;
const MAX_BYTES = 2 * 2 ** 20;
/** Files of a run directory from which the others are made. */
const KEPT = ["recording.json", "samples.parquet", "oom/oom.json", "oom/window.parquet"];

/** Packs a run directory beside the part's document, if there is room for it. Never makes a measurement fail. */
export function keepRecording(evidence: Evidence, directory: string, measurement: string, runDirectory: string): void {
  if (evidence.recordings.length >= MAX[evidence.part]) return;
  if (evidence.recordings.some((one) => one.measurement === measurement)) return;
  const file = `${evidence.part}-${measurement.replace(/[^A-Za-z0-9_-]+/g, "-")}.tar.gz`;
  const packed = path.join(directory, file);
  const present = KEPT.filter((name) => existsSync(path.join(runDirectory, name)));
  if (!present.includes("recording.json")) return;
  try {
    execFileSync("tar", ["-czf", packed, "-C", runDirectory, ...present], { stdio: "ignore" });
    const { size } = statSync(packed);
    if (size > MAX_BYTES) rmSync(packed);
    else evidence.recordings.push({ file, measurement, bytes: size });
  } catch {
    rmSync(packed, { force: true });
  }
}
