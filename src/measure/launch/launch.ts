import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { findPrebuild } from "../../sampler/prebuild.ts";
import { readStat } from "../../sampler/proc.ts";
import { type LauncherOrder, parseStatusLine } from "./launcher-protocol.ts";
import { adoptOrphans, endOrphans, registerLauncher } from "./process-tree.ts";
import {
  CONTROL_FD,
  type CommandEnd,
  type Launched,
  type LaunchRequest,
  launchFailed,
  STATUS_FD,
  type Started,
  startBySudo,
  startInSession,
  WallRefused,
} from "./start-in-session.ts";

/** Killed processes end within milliseconds. */
const MAX_END_MS = 500;

/**
 * Start the launcher around a command that is not running yet. The command's process exists when this resolves, so that
 * it is sampled from its start.
 * @throws GateError LAUNCH_FAILED, COMMAND_INVALID; WallRefused
 */
export async function launch(request: LaunchRequest): Promise<Launched> {
  if (process.platform === "darwin") return (await import("./launch-in-group.ts")).launchInGroup(request);
  const prebuild = findPrebuild();
  if ("reason" in prebuild) throw launchFailed(prebuild.reason, undefined);
  const reason = adoptOrphans()
    ? null
    : "this process cannot adopt orphans: if the launcher is killed, a process that starts a new session and clears its environment at once may outlive the run";
  const { wall } = request;
  const walled = wall !== null;
  const mounts = wall?.mounts ?? [];
  const args = [
    String(CONTROL_FD),
    String(STATUS_FD),
    ...(walled ? [wall.kind, ...mounts] : []),
    "--",
    ...request.argv,
  ];
  const started = wall?.sudo
    ? await startBySudo(wall.sudo, prebuild.launcher, mounts, request)
    : await startInSession(prebuild.launcher, args, request);
  return { ...(await follow(started)), walled, reason: walled ? null : reason };
}

async function follow({
  child,
  control,
  status,
  stdout,
  stderr,
  opened,
}: Started): Promise<Omit<Launched, "walled" | "reason">> {
  const unregister = child.pid === undefined ? () => {} : registerLauncher(child.pid);
  let commandPid: number | null = null;
  let rootPid = child.pid;
  let end: (value: CommandEnd) => void;
  const kill = (): void => {
    child.kill("SIGKILL");
    // One that runs as root ends by this.
    control.destroy();
  };
  const ended = new Promise<CommandEnd>((resolve) => {
    end = resolve;
  });
  const ready = new Promise<void>((resolve, reject) => {
    // A launcher answers within milliseconds; after this time the machine cannot run it.
    const timer = setTimeout(() => reject(launchFailed("it does not answer", undefined)), 10_000);
    const isReady = (): void => {
      clearTimeout(timer);
      resolve();
    };
    child.once("error", (error) => {
      clearTimeout(timer);
      reject(launchFailed(error.message, error));
    });
    child.once("exit", (code, signal) => {
      clearTimeout(timer);
      void opened();
      reject(launchFailed(`it ended with ${signal ?? `status ${code}`}`, undefined));
    });
    eachLine(status, (line) => {
      void opened();
      const message = parseStatusLine(line);
      switch (message?.kind) {
        case "init":
          rootPid = message.pid;
          break;
        case "wall-failed":
          clearTimeout(timer);
          reject(new WallRefused(message.step, message.errno));
          break;
        case "pid":
          commandPid = message.pid;
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
      // Status that arrives this long after the launcher's end is its own; a copy of its pipe may stay open.
      setTimeout(() => end({ kind: "lost" }), 1000).unref();
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
    kill();
    stdout.destroy();
    stderr.destroy();
    // What a killed launcher had begun is then this process's own child.
    await Promise.race([closed, sleep(MAX_END_MS, null, { ref: false })]);
    await endOrphans(MAX_END_MS);
    throw error;
  }
  killWhenStopped(child, closed);
  return {
    rootPid: rootPid!,
    stdout,
    stderr,
    commandPid: () => commandPid,
    send,
    ended,
    closed,
    isClosed: () => isClosed,
    kill,
  };
}

/** A stopped launcher would never report the command's end. What kills it ends its tree. */
function killWhenStopped(child: Started["child"], closed: Promise<void>): void {
  let before = false;
  const forget = (): void => {
    before = false;
  };
  // Twice in a row, and not across a suspension of the whole job, whose processes are continued one after another.
  process.on("SIGCONT", forget);
  const timer = setInterval(() => {
    const stopped = /^[Tt]$/.test(readStat(child.pid ?? 0)?.state ?? "");
    if (stopped && before) child.kill("SIGKILL");
    before = stopped;
  }, 500).unref();
  void closed.then(() => {
    clearInterval(timer);
    process.off("SIGCONT", forget);
  });
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
