import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { packageRoot } from "../../../src/core/package-root.ts";

/**
 * Tools that npm does not have. `scripts/ci/workflow-tools.sh` builds them into the git-ignored build
 * directory, which takes minutes the first time; the tests only look for them, and skip where they are not.
 */
const CACHE = process.env.STORMLOG_TEST_CACHE ?? path.join(packageRoot(), "build", "test-tools");
const VERSIONS = {
  actionlint: "bin/actionlint-1.7.12",
  act: "bin/act-0.2.89",
  zizmor: "zizmor-1.32.0/bin/zizmor",
  uv: "uv-0.13.9/bin/uv",
} as const;

/** How to get what a skipped test needs. */
export const HOW = "scripts/ci/workflow-tools.sh";

/** Path of a tool, or null where it was not built. */
export function workflowTool(name: keyof typeof VERSIONS): string | null {
  const binary = path.join(CACHE, VERSIONS[name]);
  return existsSync(binary) ? binary : null;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Run a program to its end with its own environment. */
export function ran(
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Ended {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: options.cwd,
    env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "/", NO_COLOR: "1", ...options.env },
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    timeout: 120_000,
  });
  if (error) throw error;
  return { code: status, stdout, stderr };
}

/** `stormlog-gate init` from its sources: the committed bundle may be older than they are. */
export function ranInit(cwd: string, args: readonly string[] = []): Ended {
  const main = path.join(packageRoot(), "src/cli/main.ts");
  return ran(process.execPath, ["--import", import.meta.resolve("tsx"), main, "init", ...args], { cwd });
}
