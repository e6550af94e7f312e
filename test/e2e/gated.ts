import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import type { Finding } from "../../src/analysis/series/document.ts";
import { packageRoot } from "../../src/core/package-root.ts";
import type { RecordingInfo } from "../../src/telemetry/recording/model.ts";
import { type CliResult, cli, freshDirectory } from "./cli.ts";

const root = freshDirectory();
let directories = 0;

/** A git repository with one program in it, at `place` below its top. */
export function repositoryWith(source: string, place: string): string {
  const directory = path.join(root, String(directories++));
  mkdirSync(path.join(directory, path.dirname(place)), { recursive: true });
  copyFileSync(path.join(packageRoot(), source), path.join(directory, place));
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"];
  for (const args of [
    ["init", "-q"],
    ["add", "."],
    [...identity, "commit", "-q", "-m", "A program"],
  ]) {
    expect(spawnSync("git", args, { cwd: directory }).status).toBe(0);
  }
  return directory;
}

/** `<place>:<number>` of the one line of a program that contains `text`. */
export function lineWith(cwd: string, place: string, text: string): string {
  const lines = readFileSync(path.join(cwd, place), "utf8").split("\n");
  const found = lines.flatMap((line, i) => (line.includes(text) ? [i + 1] : []));
  expect(found).toHaveLength(1);
  return `${place}:${found[0]}`;
}

export interface Gated extends CliResult {
  readonly cwd: string;
  readonly bundle: string;
  readonly verdict: string;
  /** The verdict in one sentence. */
  readonly summary: string;
  readonly checks: readonly { rank: number; device: string; metric: string; aspect: string; verdict: string }[];
  readonly findings: readonly Finding[];
  /** Names of the run directories. */
  readonly runs: readonly string[];
  readonly info: RecordingInfo;
}

export async function gate(
  cwd: string,
  command: readonly string[],
  options: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Gated> {
  const result = await cli(["run", "--json", "--baseline", "none", ...options, "--", ...command], { cwd, env });
  const { payload, verdict } = JSON.parse(result.stdout);
  const bundle = path.join(cwd, "stormlog-bundle");
  const directory = path.join(bundle, "runs", "default");
  const [scenario] = payload.scenarios;
  return {
    ...result,
    cwd,
    bundle,
    verdict: payload.verdict,
    summary: verdict.summary,
    checks: scenario.judgement?.checks ?? [],
    findings: scenario.findings,
    runs: readdirSync(directory).sort(),
    info: JSON.parse(readFileSync(path.join(directory, "1", "recording.json"), "utf8")),
  };
}

/** Where memory is kept, by the attribution run. */
export const linesOf = ({ findings }: Gated): readonly Finding[] =>
  findings.filter(({ classification }) => classification === "leak_line");
