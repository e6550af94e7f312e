import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Readable } from "node:stream";
import { codeOf, GateError, messageOf } from "../../core/errors.ts";
import { helperEnvironment, helperPrograms, runChild } from "../../core/process/child.ts";
import type { Environment } from "../../core/process/environment.ts";
import type { LauncherOrder, LauncherStatus } from "./launcher-protocol.ts";

/** How the command ended; "lost" when the launcher ended without reporting it. */
export type CommandEnd =
  | Extract<LauncherStatus, { kind: "exited" | "signaled" | "exec-failed" }>
  | { readonly kind: "lost" };

/** A command that is ready to go, held by its launcher. */
export interface Launched {
  /** The root of the measured tree: the launcher, itself not part of it, or on macOS the command. */
  readonly rootPid: number;
  /** Which processes may outlive the run, and why; null when none may. */
  readonly reason: string | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** The command's pid as soon as the launcher reported it. */
  commandPid(): number | null;
  send(order: LauncherOrder): void;
  readonly ended: Promise<CommandEnd>;
  /** The launcher is gone. */
  readonly closed: Promise<void>;
  isClosed(): boolean;
  /** SIGKILL to the launcher, which ends a stopped one too. What it leaves becomes an orphan. */
  kill(): void;
}

export interface LaunchRequest {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export const CONTROL_FD = 3;
export const STATUS_FD = 4;

export function launchFailed(message: string, cause: unknown): GateError {
  return new GateError("LAUNCH_FAILED", `the launcher of the measured command cannot be started: ${message}`, {
    kind: "error",
    hint: "Check that processes can be started at all (limits on processes, open files, memory).",
    ...(cause === undefined ? {} : { cause }),
  });
}

export interface Started {
  readonly child: ChildProcess;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/**
 * Starts a program in its own session, with pipes for output, orders and status.
 * @throws GateError LAUNCH_FAILED, COMMAND_INVALID
 */
export async function startInSession(
  file: string,
  args: readonly string[],
  { cwd, env }: LaunchRequest,
): Promise<Started> {
  const pipes = await openOutputPipes();
  const socket = rankSocket(env);
  let child: ChildProcess;
  try {
    child = spawn(file, args, {
      cwd,
      env: socket === null ? env : { ...env, [SOCKET_VARIABLE]: String(SOCKET_FD) },
      // Its own session: a Ctrl-C at the terminal reaches the gate alone, which then ends the tree in order.
      detached: true,
      // No stdin: a command that waits for a person would run into its timeout.
      stdio: [
        "ignore",
        pipes?.[0].writeFd ?? "pipe",
        pipes?.[1].writeFd ?? "pipe",
        "pipe",
        "pipe",
        ...(socket === null ? [] : [socket]),
      ],
    });
    // Without descriptors left, not even its streams exist.
    if (child.pid === undefined) throw (await once(child, "error"))[0];
  } catch (error) {
    for (const pipe of pipes ?? []) pipe.reader.destroy();
    const message = messageOf(error);
    if (codeOf(error) === "ERR_INVALID_ARG_VALUE")
      throw new GateError("COMMAND_INVALID", message, { kind: "usage", cause: error });
    throw launchFailed(message, error);
  } finally {
    for (const pipe of pipes ?? []) closeSync(pipe.writeFd);
  }
  const stdout = pipes?.[0].reader ?? child.stdout;
  const stderr = pipes?.[1].reader ?? child.stderr;
  if (stdout === null || stderr === null) throw launchFailed("its output cannot be read", undefined);
  // Writing to a program that has quit, or reading a reset socket, is reported by its end.
  for (const stream of [...child.stdio, stdout, stderr]) stream?.on("error", () => {});
  return { child, stdout, stderr };
}

/**
 * MPICH's `mpiexec` and the PMI-2 of Slurm give each rank an open socket to its launcher and name its number here. Node
 * closes what it inherited in the programs it starts, and a rank without this socket ends in `MPI_Init`.
 */
const SOCKET_VARIABLE = "PMI_FD";

/** The number that the command gets, always: the first after those that the gate's launcher uses itself. */
const SOCKET_FD = 5;

const LOWEST_FD = 3;

/** Number of the rank's socket in this process; null where the launcher gave none. */
export function rankSocket(env: Environment): number | null {
  const text = env[SOCKET_VARIABLE];
  if (text === undefined || !/^\d{1,9}$/.test(text)) return null;
  const fd = Number(text);
  if (fd < LOWEST_FD) return null;
  try {
    return fstatSync(fd).isSocket() ? fd : null;
  } catch {
    // The variable outlived its socket, as in a shell below a rank.
    return null;
  }
}

/** Both ends of a pipe: the child gets `writeFd`, this process reads `reader`. */
interface OutputPipe {
  readonly reader: Readable;
  readonly writeFd: number;
}

/**
 * Real pipes for a child's stdout and stderr. The "pipes" Node itself makes are socket pairs, on which a script's `echo
 * … > /dev/stderr` fails with ENXIO; named pipes opened at both ends and unlinked behave as a shell's do. Null where
 * they cannot be made; the caller then takes Node's own.
 */
async function openOutputPipes(): Promise<readonly [OutputPipe, OutputPipe] | null> {
  let directory: string | undefined;
  try {
    directory = await mkdtemp(path.join(tmpdir(), "stormlog-gate-"));
    const files = [path.join(directory, "out"), path.join(directory, "err")] as const;
    const program = helperPrograms().find("mkfifo");
    if (program === null) return null;
    const options = { env: helperEnvironment(), timeoutMs: 5000 };
    await runChild(program.path, ["-m", "600", ...files], options);
    const out = openBoth(files[0]);
    try {
      return [out, openBoth(files[1])];
    } catch (error) {
      closeSync(out.writeFd);
      out.reader.destroy();
      throw error;
    }
  } catch {
    return null;
  } finally {
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  }
}

function openBoth(file: string): OutputPipe {
  // The reading end first: opening a named pipe for writing waits for a reader.
  const readFd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeFd = openSync(file, constants.O_WRONLY);
  return { reader: new Socket({ fd: readFd, readable: true, writable: false }), writeFd };
}
