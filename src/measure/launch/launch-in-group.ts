import { once } from "node:events";
import type { Writable } from "node:stream";
import { messageOf } from "../../core/errors.ts";
import { findExecutable } from "../../core/process/find-executable.ts";
import { allProcesses, descendantsOf } from "../../sampler/ps.ts";
import { registerLauncher, sendSignal } from "./process-tree.ts";
import {
  CONTROL_FD,
  type CommandEnd,
  type Launched,
  type LaunchRequest,
  launchFailed,
  startInSession,
} from "./start-in-session.ts";

/** Holds the command until a line arrives; `exec` keeps the pid. */
const HOLD = 'read -r _ <&3 && exec "$@" 3<&- 4<&-';

const SIGNALS = { i: "SIGINT", t: "SIGTERM", k: "SIGKILL", q: "SIGKILL" } as const;

/** Signals the tree below a process; SIGKILL also what is left of its process group once its parents have ended. */
async function signalTree(root: number, signal: NodeJS.Signals): Promise<void> {
  const rows = await allProcesses().catch(() => []);
  for (const { pid } of descendantsOf(rows, root, true)) sendSignal(pid, signal);
  if (signal === "SIGKILL") sendSignal(-root, signal);
}

/**
 * The command as the leader of a process group, for macOS, which has no native launcher.
 * @throws GateError LAUNCH_FAILED, COMMAND_INVALID
 */
export async function launchInGroup(request: LaunchRequest): Promise<Launched> {
  const { argv, cwd, env } = request;
  const { kind } = await findExecutable(argv[0] ?? "", cwd, env.PATH);
  const { child, stdout, stderr } = await startInSession("/bin/sh", ["-c", HOLD, "sh", ...argv], request);
  let end: (value: CommandEnd) => void = () => {};
  const ended = new Promise<CommandEnd>((resolve) => {
    end = resolve;
  });
  const exited = new Promise<void>((resolve) => {
    child.once("exit", (code, signal) => {
      end(signal === null ? { kind: "exited", code: code ?? 0 } : { kind: "signaled", signal });
      resolve();
    });
  });
  await once(child, "spawn").catch((error) => {
    throw launchFailed(messageOf(error), error);
  });
  const root = child.pid!;
  const unregister = registerLauncher(-root);
  let isClosed = false;
  let close: () => void = () => {};
  const closed = new Promise<void>((resolve) => {
    // A signal is delivered after the call that sends it.
    close = async () => {
      await exited;
      isClosed = true;
      unregister();
      resolve();
    };
  });
  return {
    rootPid: root,
    walled: false,
    reason: "if the gate is killed, the command goes on; a process that leaves the command's group may outlive the run",
    stdout,
    stderr,
    commandPid: () => root,
    send(order) {
      if (order !== "g") void signalTree(root, SIGNALS[order]).then(order === "q" ? close : undefined);
      else if (kind === "found") (child.stdio[CONTROL_FD] as Writable).write("\n");
      else end({ kind: "exec-failed", errno: "ENOENT" });
    },
    ended,
    closed,
    isClosed: () => isClosed,
    kill: () => sendSignal(-root, "SIGKILL"),
  };
}
