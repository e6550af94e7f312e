import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import { codeOf, GateError, messageOf } from "../../core/errors.ts";
import { heldFiles, packageRoot } from "../../core/package-root.ts";
import { findPrebuild } from "../../sampler/prebuild.ts";
import { readStat } from "../../sampler/proc.ts";
import { rankSocket, SOCKET_FD, SOCKET_VARIABLE } from "../environment/rank-socket.ts";
import { GUARD_COMPILE_CACHE, GUARD_NODE_OPTIONS } from "../environment/scrub-environment.ts";
import { type LauncherOrder, type LauncherStatus, parseStatusLine } from "./launcher-protocol.ts";
import { openOutputPipes } from "./output-pipes.ts";
import { adoptOrphans, registerLauncher } from "./process-tree.ts";

/** How the command ended; "lost" when the launcher ended without reporting it. */
export type CommandEnd =
  | Extract<LauncherStatus, { kind: "exited" | "signaled" | "exec-failed" }>
  | { readonly kind: "lost" };

/** A command that is ready to go, held by its launcher. */
export interface Launched {
  /** The launcher's pid: the root of the measured tree, itself not part of it. */
  readonly rootPid: number;
  /** Why the native launcher is not used; null when it is. */
  readonly reason: string | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** The command's pid as soon as the launcher reported it. */
  commandPid(): number | null;
  /** Resolves with it; the JavaScript guard reports it only after `g`, and never when the command does not start. */
  readonly pidKnown: Promise<number>;
  send(order: LauncherOrder): void;
  readonly ended: Promise<CommandEnd>;
  /** The launcher is gone. */
  readonly closed: Promise<void>;
  isClosed(): boolean;
  /** SIGKILL to the launcher, which ends a stopped one too. What it leaves becomes an orphan. */
  kill(): void;
}

interface LaunchRequest {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

interface Program {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly reason: string | null;
  /** The process of the command exists, held, before `g`. */
  readonly holds: boolean;
}

const CONTROL_FD = 3;
const STATUS_FD = 4;
/** A launcher answers within milliseconds; after this time the machine cannot run it. */
const READY_TIMEOUT_MS = 10_000;
/** Period of looking whether the launcher was stopped. Twice in a row, because a whole job may be suspended. */
const STOPPED_CHECK_MS = 500;
/** Status that arrives this long after the launcher's end is its own; a copy of its pipe may stay open. */
const STATUS_AFTER_EXIT_MS = 1000;

/** Forces the launcher in JavaScript; for tests and for a machine where the native one misbehaves. */
const LAUNCHER_VARIABLE = "STORMLOG_GATE_LAUNCHER";

function nativeProgram(request: LaunchRequest): Program | { readonly missing: string } {
  if (process.env[LAUNCHER_VARIABLE] === "fallback") return { missing: `${LAUNCHER_VARIABLE} asks for it` };
  const prebuild = findPrebuild();
  if ("reason" in prebuild) return { missing: prebuild.reason };
  if (!existsSync(prebuild.launcher)) return { missing: "the native launcher is not installed" };
  const reason = adoptOrphans() ? null : `this process cannot adopt orphans: if the launcher is killed, ${MAY_OUTLIVE}`;
  return { file: prebuild.launcher, args: [], env: request.env, reason, holds: true };
}

const MAY_OUTLIVE = "a process that starts a new session and clears its environment at once may outlive the run";

/** The same in JavaScript; from sources it runs under the loader that tests use. */
function guardProgram(request: LaunchRequest, cause: string): Program {
  const fromSources = import.meta.url.endsWith(".ts");
  const held = heldFiles();
  const args = fromSources
    ? ["--import", pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href, sourceOfGuard()]
    : [held === null ? path.join(packageRoot(), "dist", "guard.js") : path.join(held.copies, "guard.mjs")];
  const { NODE_COMPILE_CACHE, NODE_OPTIONS, ...rest } = request.env;
  const env: Record<string, string> = rest;
  if (NODE_OPTIONS !== undefined) env[GUARD_NODE_OPTIONS] = NODE_OPTIONS;
  if (NODE_COMPILE_CACHE !== undefined) env[GUARD_COMPILE_CACHE] = NODE_COMPILE_CACHE;
  const lost = adoptOrphans() ? "" : `: ${MAY_OUTLIVE}`;
  return { file: process.execPath, args, env, reason: `${cause}; the JavaScript guard is used${lost}`, holds: false };
}

const sourceOfGuard = (): string => fileURLToPath(new URL("../guard/main.ts", import.meta.url));

/**
 * Start the launcher around a command that is not running yet. With the native one the command's process exists when
 * this resolves, so that it is sampled from its start.
 * @throws GateError LAUNCH_FAILED, COMMAND_INVALID
 */
export async function launch(request: LaunchRequest): Promise<Launched> {
  const native = nativeProgram(request);
  if ("missing" in native) return startProgram(guardProgram(request, native.missing), request);
  try {
    return await startProgram(native, request);
  } catch (error) {
    if (!(error instanceof GateError) || error.code !== "LAUNCH_FAILED") throw error;
    return startProgram(guardProgram(request, `the native launcher does not run (${error.message})`), request);
  }
}

async function startProgram(program: Program, request: LaunchRequest): Promise<Launched> {
  const pipes = await openOutputPipes();
  const args = [...program.args, String(CONTROL_FD), String(STATUS_FD), "--", ...request.argv];
  const socket = rankSocket(program.env);
  let child: ChildProcess;
  try {
    child = spawn(program.file, args, {
      cwd: request.cwd,
      env: socket === null ? program.env : { ...program.env, [SOCKET_VARIABLE]: String(SOCKET_FD) },
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
  return follow(child, program, stdout, stderr);
}

function launchFailed(message: string, cause: unknown): GateError {
  return new GateError("LAUNCH_FAILED", `the launcher of the measured command cannot be started: ${message}`, {
    kind: "error",
    hint: "Check that processes can be started at all (limits on processes, open files, memory).",
    ...(cause === undefined ? {} : { cause }),
  });
}

async function follow(child: ChildProcess, program: Program, stdout: Readable, stderr: Readable): Promise<Launched> {
  const unregister = child.pid === undefined ? () => {} : registerLauncher(child.pid);
  const control = child.stdio[CONTROL_FD] as Writable;
  const status = child.stdio[STATUS_FD] as Readable;
  // Writing to a launcher that has quit, or reading a reset socket, is reported by `closed`.
  for (const stream of [control, status, stdout, stderr]) stream.on("error", () => {});
  let commandPid: number | null = null;
  let reportPid: (pid: number) => void;
  const pidKnown = new Promise<number>((resolve) => {
    reportPid = resolve;
  });
  let end: (value: CommandEnd) => void;
  const ended = new Promise<CommandEnd>((resolve) => {
    end = resolve;
  });
  const ready = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(launchFailed("it does not answer", undefined)), READY_TIMEOUT_MS);
    const isReady = (): void => {
      clearTimeout(timer);
      resolve();
    };
    child.once("spawn", () => {
      if (!program.holds) isReady();
    });
    child.once("error", (error) => {
      clearTimeout(timer);
      reject(launchFailed(error.message, error));
    });
    child.once("exit", (code, signal) => {
      clearTimeout(timer);
      reject(launchFailed(`it ended with ${signal ?? `status ${code}`}`, undefined));
    });
    eachLine(status, (line) => {
      const message = parseStatusLine(line);
      switch (message?.kind) {
        case "pid":
          commandPid = message.pid;
          reportPid(message.pid);
          isReady();
          break;
        case "exited":
        case "signaled":
        case "exec-failed":
          isReady();
          end(message);
          break;
        default:
          break;
      }
    });
  });
  let isClosed = false;
  const closed = new Promise<void>((resolve) => {
    const close = (): void => {
      isClosed = true;
      unregister();
      resolve();
      setTimeout(() => end({ kind: "lost" }), STATUS_AFTER_EXIT_MS).unref();
    };
    child.once("exit", close);
    child.once("error", close);
  });
  // The status stream may still hold the command's end when the launcher's exit is seen: it ends after both.
  status.once("close", () => end({ kind: "lost" }));
  const send = (order: LauncherOrder): void => {
    if (control.writable) control.write(order);
  };
  try {
    await ready;
  } catch (error) {
    child.kill("SIGKILL");
    stdout.destroy();
    stderr.destroy();
    throw error;
  }
  killWhenStopped(child, closed);
  return {
    rootPid: child.pid!,
    reason: program.reason,
    stdout,
    stderr,
    commandPid: () => commandPid,
    pidKnown,
    send,
    ended,
    closed,
    isClosed: () => isClosed,
    kill: () => void child.kill("SIGKILL"),
  };
}

/** A stopped launcher would never report the command's end. What kills it ends its tree. */
function killWhenStopped(child: ChildProcess, closed: Promise<void>): void {
  let before = false;
  const timer = setInterval(() => {
    const stopped = /^[Tt]$/.test(readStat(child.pid ?? 0)?.state ?? "");
    if (stopped && before) child.kill("SIGKILL");
    before = stopped;
  }, STOPPED_CHECK_MS).unref();
  void closed.then(() => clearInterval(timer));
}

function eachLine(stream: Readable, take: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("latin1");
  stream.on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) take(line);
  });
}
