import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { packageRoot } from "../../src/core/package-root.ts";

export interface CliResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Program to run Node under, with its arguments. */
  readonly under?: readonly string[];
  /** Called once the process runs. */
  readonly onStart?: (pid: number) => void;
}

/** Output kept of each stream. */
const KEPT_BYTES = 64 * 1024 * 1024;

/** The command line as shipped: the committed bundle, not the sources. */
export const CLI = path.join(packageRoot(), "dist", "cli.js");

/**
 * Arguments of Node before those of the command line: the bundle, or the sources with STORMLOG_GATE_E2E=sources. A process draws
 * one picture: without the optimising compiler for WebAssembly, that costs half.
 */
const ENTRY: readonly string[] =
  process.env.STORMLOG_GATE_E2E === "sources"
    ? ["--liftoff-only", "--import", import.meta.resolve("tsx"), path.join(packageRoot(), "src", "cli", "main.ts")]
    : ["--liftoff-only", CLI];

/** A fresh directory outside the repository, so that no git or configuration of it is found by accident; gone with the process. */
export function freshDirectory(): string {
  const directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-e2e-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Run the shipped command line to its end. */
export function cli(args: readonly string[], options: CliOptions): Promise<CliResult> {
  return new Promise((resolve, reject) => {
    const env = { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "/", NO_COLOR: "1", ...options.env };
    const [program = process.execPath, ...rest] = [...(options.under ?? []), process.execPath, ...ENTRY, ...args];
    const child = spawn(program, rest, {
      cwd: options.cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    for (const name of ["stdout", "stderr"] as const) {
      let kept = 0;
      child[name].on("data", (chunk: Buffer) => {
        // A command that prints a gigabyte is read to its end, but not kept.
        if (kept < KEPT_BYTES) chunks[name].push(chunk);
        kept += chunk.length;
      });
    }
    child.on("error", reject);
    child.on("spawn", () => options.onStart?.(child.pid as number));
    child.on("close", (code, signal) =>
      resolve({
        code,
        signal,
        stdout: Buffer.concat(chunks.stdout).toString(),
        stderr: Buffer.concat(chunks.stderr).toString(),
      }),
    );
  });
}
