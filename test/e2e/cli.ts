import { spawn } from "node:child_process";
import { chmodSync } from "node:fs";
import path from "node:path";
import { packageRoot } from "../../src/core/package-root.ts";
import { installGate } from "../testing/installed-gate.ts";
import { temporary } from "../testing/temporary.ts";

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
  /** Called with each part of the error output as it arrives. */
  readonly onStderr?: (text: string, pid: number) => void;
}

/** Output kept of each stream. */
const KEPT_BYTES = 64 * 1024 * 1024;

/** The command line as shipped: the committed bundle, not the sources. */
export const CLI = path.join(packageRoot(), "dist", "cli.js");

let built: Promise<string> | undefined;

/** The committed bundle; with STORMLOG_GATE_E2E=sources a build of the sources, made once per test file. */
async function entry(): Promise<string> {
  if (process.env.STORMLOG_GATE_E2E !== "sources") return CLI;
  if (built === undefined) {
    const directory = freshDirectory();
    // Some tests start it as another user.
    chmodSync(directory, 0o755);
    built = installGate(directory).then(({ cli: file }) => file);
  }
  return built;
}

/** A fresh directory outside the repository, so that no git or configuration of it is found by accident. */
export const freshDirectory = (): string => temporary("e2e");

/** Run the shipped command line to its end. */
export async function cli(args: readonly string[], options: CliOptions): Promise<CliResult> {
  const file = await entry();
  return new Promise((resolve, reject) => {
    const env = { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "/", NO_COLOR: "1", ...options.env };
    const [program = process.execPath, ...rest] = [...(options.under ?? []), process.execPath, file, ...args];
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
    child.stderr.on("data", (chunk: Buffer) => options.onStderr?.(chunk.toString(), child.pid as number));
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
