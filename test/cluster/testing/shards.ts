import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import type { RecordingInfo } from "../../../src/telemetry/recording/model.ts";

/** Names of the shards that a job left in its output directory, in order. */
export function shards(cwd: string, output: string): readonly string[] {
  const directory = path.join(cwd, output);
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .filter((name) => existsSync(path.join(directory, name, "recording.json")))
    .sort();
}

/** A shard's own record. @throws Error when it is not there, or no whole JSON */
export function shard(cwd: string, output: string, name: string): RecordingInfo {
  return JSON.parse(readFileSync(path.join(cwd, output, name, "recording.json"), "utf8"));
}

/** One to three seconds of samples, by the cost of a reading. */
const SOME_BYTES = 24 * 1024;

/** Whether this shard has been measured for some time: samples of it are on disk. */
export function isMeasured(cwd: string, output: string, name: string): boolean {
  const file = path.join(cwd, output, name, "samples.rec");
  return existsSync(file) && statSync(file).size > SOME_BYTES;
}
