import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Readable, Writable } from "node:stream";
import { codeOf, GateError, messageOf } from "../../core/errors.ts";
import { helperEnvironment, helperPrograms, runChild } from "../../core/process/child.ts";
import type { Environment } from "../../core/process/environment.ts";
import type { LauncherOrder, LauncherStatus } from "./launcher-protocol.ts";
import { registerLauncher } from "./process-tree.ts";

/** How the command ended; "lost" when the launcher ended without reporting it. */
export type CommandEnd =
  | Extract<LauncherStatus, { kind: "exited" | "signaled" | "exec-failed" }>
  | { readonly kind: "lost" };

/** A command that is ready to go, held by its launcher. */
export interface Launched {
  /** The root of the measured tree: the launcher, itself not part of it, or on macOS the command. */
  readonly rootPid: number;
  /** Whether all processes of the command end with the root, and none leaves its tree. */
  readonly walled: boolean;
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

/** Namespaces of the command's own. `mounts`: as the launcher takes them. */
export interface Wall {
  readonly kind: "user" | "sudo" | "root";
  readonly mounts: readonly string[];
  /** Path of the `sudo` that starts the launcher; null = this process starts it. */
  readonly sudo: string | null;
}

/** The machine does not let this process make a wall. */
export class WallRefused extends Error {
  readonly reason: string;

  /** @param step of the launcher, or the path that could not be mounted  @param errno its symbolic name */
  constructor(step: string, errno: string) {
    const reasons: Record<string, string> = {
      namespaces: "namespaces cannot be made here",
      map: "the user cannot be mapped into a namespace",
      proc: "/proc cannot be mounted in a namespace, as in most containers",
    };
    const reason = `${reasons[step] ?? `${step}: cannot be set up in a namespace`} (${errno})`;
    super(reason);
    this.reason = reason;
  }
}

export interface LaunchRequest {
  /** Null: the command is started beside this process. */
  readonly wall: Wall | null;
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
  /** To the launcher. */
  readonly control: Writable;
  /** Its reports. */
  readonly status: Readable;
  /** To be called when the launcher has reported something, or ended. */
  readonly opened: () => Promise<void>;
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
  const pipes = await openPipes(["out", "err"]);
  await pipes?.remove();
  const socket = rankSocket(env);
  return started(pipes, () =>
    spawn(file, args, {
      cwd,
      env: socket === null ? env : { ...env, [SOCKET_VARIABLE]: String(SOCKET_FD) },
      // Its own session: a Ctrl-C at the terminal reaches the gate alone, which then ends the tree in order.
      detached: true,
      // No stdin: a command that waits for a person would run into its timeout.
      stdio: [
        "ignore",
        pipes?.writeFds[0] ?? "pipe",
        pipes?.writeFds[1] ?? "pipe",
        "pipe",
        "pipe",
        ...(socket === null ? [] : [socket]),
      ],
    }),
  );
}

/**
 * Starts the launcher as root. `sudo` closes all descriptors but three and resets the environment: orders go to the
 * launcher's input, the environment before them, and its reports come through a named pipe.
 * @param launcher its path  @param mounts of the wall  @throws GateError LAUNCH_FAILED, COMMAND_INVALID
 */
export async function startBySudo(
  sudo: string,
  launcher: string,
  mounts: readonly string[],
  { argv, cwd, env }: LaunchRequest,
): Promise<Started> {
  const pipes = await openPipes(["out", "err", "status"]);
  const [, , status] = pipes?.readers ?? [];
  if (pipes === null || status === undefined) throw launchFailed("no named pipe can be made", undefined);
  const words = [launcher, "0", "0", "sudo", String(process.pid), pipes.files[2] ?? "", ...mounts, "--", ...argv];
  const ready = await started(pipes, () => {
    const [out, err] = pipes.writeFds;
    const options = { cwd, env: helperEnvironment(), detached: true };
    return spawn(sudo, ["-n", "--", ...words], { ...options, stdio: ["pipe", out ?? "ignore", err ?? "ignore"] });
  });
  const control = ready.child.stdin;
  if (control === null) throw launchFailed("its input cannot be written", undefined);
  const block = Buffer.from(
    Object.entries(env)
      .map(([name, value]) => `${name}=${value}\0`)
      .join(""),
  );
  control.write(`${block.length}\n`);
  control.write(block);
  return { ...ready, control, status, opened: pipes.remove };
}

async function started(pipes: Pipes | null, start: () => ChildProcess): Promise<Started> {
  let child: ChildProcess;
  try {
    child = start();
    // Without descriptors left, not even its streams exist.
    if (child.pid === undefined) throw (await once(child, "error"))[0];
    // At once: another run's search for orphans would end it.
    registerLauncher(child.pid);
  } catch (error) {
    for (const reader of pipes?.readers ?? []) reader.destroy();
    await pipes?.remove();
    const message = messageOf(error);
    if (codeOf(error) === "ERR_INVALID_ARG_VALUE")
      throw new GateError("COMMAND_INVALID", message, { kind: "usage", cause: error });
    throw launchFailed(message, error);
  } finally {
    for (const fd of pipes?.writeFds.slice(0, 2) ?? []) closeSync(fd);
  }
  const stdout = pipes?.readers[0] ?? child.stdout;
  const stderr = pipes?.readers[1] ?? child.stderr;
  if (stdout === null || stderr === null) throw launchFailed("its output cannot be read", undefined);
  // Writing to a program that has quit, or reading a reset socket, is reported by its end.
  for (const stream of [...child.stdio, ...(pipes?.readers ?? []), stdout, stderr]) stream?.on("error", () => {});
  const control = child.stdio[CONTROL_FD] as Writable;
  const status = child.stdio[STATUS_FD] as Readable;
  return { child, control, status, stdout, stderr, opened: async () => {} };
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

/** Named pipes, opened at both ends: a child gets the writing ends, this process reads the others. */
interface Pipes {
  readonly files: readonly string[];
  readonly readers: readonly Readable[];
  readonly writeFds: readonly number[];
  /** Removes their names, and closes the writing ends behind the first two. */
  readonly remove: () => Promise<void>;
}

/**
 * Real pipes for a child's streams. The "pipes" Node itself makes are socket pairs, on which a script's `echo … >
 * /dev/stderr` fails with ENXIO; named pipes opened at both ends and unlinked behave as a shell's do. Null where they
 * cannot be made; the caller then takes Node's own.
 */
async function openPipes(names: readonly string[]): Promise<Pipes | null> {
  let directory: string | undefined;
  const readers: Socket[] = [];
  const writeFds: number[] = [];
  const unlink = async (): Promise<void> => {
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
    directory = undefined;
  };
  try {
    directory = await mkdtemp(path.join(tmpdir(), "stormlog-gate-"));
    const files = names.map((name) => path.join(directory ?? "", name));
    const program = helperPrograms().find("mkfifo");
    if (program === null) throw new Error("mkfifo is missing");
    await runChild(program.path, ["-m", "600", ...files], { env: helperEnvironment(), timeoutMs: 5000 });
    for (const file of files) {
      // The reading end first: opening a named pipe for writing waits for a reader.
      const readFd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
      readers.push(new Socket({ fd: readFd, readable: true, writable: false }));
      writeFds.push(openSync(file, constants.O_WRONLY));
    }
    const remove = async (): Promise<void> => {
      for (const fd of writeFds.splice(2)) closeSync(fd);
      await unlink();
    };
    return { files, readers, writeFds, remove };
  } catch {
    for (const reader of readers) reader.destroy();
    for (const fd of writeFds) closeSync(fd);
    await unlink();
    return null;
  }
}
