import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll } from "vitest";

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

export type Environment = Readonly<Record<string, string>>;

/** Longer than any job of these tests takes on a slow machine. */
const LIMIT_MS = 300_000;

/** The environment of a user's shell, without the variables of a launcher around the tests. */
export const plainEnvironment = (bin: string): Environment => ({
  PATH: `${bin}:${path.dirname(process.execPath)}:${process.env.PATH ?? ""}:/usr/sbin:/sbin`,
  HOME: process.env.HOME ?? "/",
  NO_COLOR: "1",
});

/** Start a program in a new process group, which is killed when it takes too long. */
export function start(argv: readonly string[], options: { cwd: string; env: Environment }): Started {
  const [file = "", ...args] = argv;
  const child = spawn(file, args, { ...options, stdio: ["ignore", "pipe", "pipe"], detached: true });
  const text = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (chunk: string) => {
      text[name] += chunk;
    });
  }
  const timer = setTimeout(() => endGroup(child, "SIGKILL"), LIMIT_MS);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal, ...text }));
  }).finally(() => clearTimeout(timer));
  return { child, ended };
}

export const run = (argv: readonly string[], options: { cwd: string; env: Environment }): Promise<Ended> =>
  start(argv, options).ended;

function endGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // Ended in between.
  }
}

/** The first of these programs that is not installed; null when all are. */
export function missingProgram(names: readonly string[]): string | null {
  const env = { ...process.env, PATH: `${process.env.PATH ?? ""}:/usr/sbin:/sbin` };
  const missing = names.find((name) => spawnSync("sh", ["-c", `command -v ${name}`], { env }).status !== 0);
  return missing ?? null;
}

/**
 * A directory whose path is short enough for the sockets of daemons; gone after the tests of the suite that asks for
 * it.
 */
export function shortDirectory(): string {
  const directory = mkdtempSync(path.join(tmpdir(), "slg-"));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  afterAll(remove);
  // A skipped suite has no such hook.
  process.once("exit", remove);
  return directory;
}

/** Wait until it is so. @throws Error when it is not after `limitMs` */
export async function until(what: string, isSo: () => boolean, limitMs = 30_000): Promise<void> {
  for (const end = Date.now() + limitMs; Date.now() < end; ) {
    if (isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${what}: not within ${limitMs} ms`);
}

/** Whether a program can have a separate host name here: as root, and where namespaces may be made. */
const MAY_NAME_HOSTS = process.getuid?.() === 0 && spawnSync("unshare", ["--uts", "true"]).status === 0;

/** The command as on a machine of this name, where that can be had; else on this one. */
export function onHost(host: string, command: readonly string[]): readonly string[] {
  return MAY_NAME_HOSTS ? ["unshare", "--uts", "sh", "-c", `hostname ${host} && exec "$@"`, "sh", ...command] : command;
}
