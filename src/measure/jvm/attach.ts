import { closeSync, constants, openSync, rmSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { connect } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { namespacePids, readStat, readText } from "../../sampler/proc.ts";
import { type Member, signalMember } from "../launch/process-tree.ts";

// The protocol of `jcmd` (attachListener_posix.cpp of OpenJDK, version 1), without starting a second virtual machine:
// a file asks the machine to listen, SIGQUIT makes it look for the file, and it answers on a socket.

/** A virtual machine, as other processes find it. */
export interface JvmProcess extends Member {
  /** Its pid in its own namespace. */
  readonly ownPid: number;
  /** Effective user. */
  readonly uid: number;
}

const LISTEN_MS = 5_000;
const LOOK_MS = 20;
/** A full collection of a large heap takes seconds. */
const ANSWER_MS = 30_000;
const MAX_ANSWER_BYTES = 16 * 2 ** 20;
const SIGQUIT_BIT = 1n << 2n;

/** Identity of a process from `/proc/<pid>/status`; null where it has ended. */
export function jvmProcess({ pid, startTicks }: Member): JvmProcess | null {
  const status = readText(`/proc/${pid}/status`);
  const uid = /^Uid:\s+\d+\s+(\d+)/m.exec(status ?? "")?.[1];
  return uid === undefined ? null : { pid, startTicks, ownPid: namespacePids(pid).at(-1) ?? pid, uid: Number(uid) };
}

/** Without a handler SIGQUIT would end the process: one that is starting, or one with `-Xrs`. */
function handlesQuit(pid: number): boolean {
  const caught = /^SigCgt:\s+([0-9a-f]+)$/m.exec(readText(`/proc/${pid}/status`) ?? "")?.[1];
  return caught !== undefined && (BigInt(`0x${caught}`) & SIGQUIT_BIT) !== 0n;
}

const isSocket = (file: string): Promise<boolean> =>
  lstat(file).then(
    (facts) => facts.isSocket(),
    () => false,
  );

/** Make the machine listen. @returns its socket, or null where it does not listen */
async function listening({ pid, startTicks, ownPid }: JvmProcess, stop: AbortSignal): Promise<string | null> {
  const temporary = `/proc/${pid}/root/tmp`;
  const socket = path.join(temporary, `.java_pid${ownPid}`);
  if (await isSocket(socket)) return socket;
  if (!handlesQuit(pid)) return null;
  const request = path.join(temporary, `.attach_pid${ownPid}`);
  const { O_WRONLY, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    closeSync(openSync(request, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600));
    signalMember({ pid, startTicks }, "SIGQUIT");
    for (const until = performance.now() + LISTEN_MS; performance.now() < until; await sleep(LOOK_MS)) {
      if (await isSocket(socket)) return socket;
      if (stop.aborted || readStat(pid)?.startTicks !== startTicks) break;
    }
    return null;
  } catch {
    return null;
  } finally {
    rmSync(request, { force: true });
  }
}

function exchange(socket: string, request: string, stop: AbortSignal): Promise<string | null> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const connection = connect(socket);
    const onStop = () => end(null);
    const end = (answer: string | null) => {
      stop.removeEventListener("abort", onStop);
      connection.destroy();
      resolve(answer);
    };
    connection.setTimeout(ANSWER_MS, () => end(null));
    stop.addEventListener("abort", onStop);
    connection.on("error", () => end(null));
    connection.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_ANSWER_BYTES) end(null);
    });
    connection.on("end", () => end(Buffer.concat(chunks).toString("latin1")));
    connection.write(request, "latin1");
  });
}

/**
 * Let the machine collect its whole heap and report its live objects, whatever its collector and its settings: unlike
 * `GC.run`, the histogram of live objects is not disabled by `-XX:+DisableExplicitGC`, and needs no counters.
 * @returns bytes, or null where it did not answer
 */
export async function liveBytes(jvm: JvmProcess, stop: AbortSignal): Promise<number | null> {
  const socket = await listening(jvm, stop);
  if (socket === null || stop.aborted) return null;
  const answer = await exchange(socket, ["1", "jcmd", "GC.class_histogram", "", "", ""].join("\0"), stop);
  if (answer === null || !answer.startsWith("0\n")) return null;
  const bytes = Number(/^Total\s+\d+\s+(\d{1,15})\s*$/m.exec(answer)?.[1] ?? Number.NaN);
  return Number.isSafeInteger(bytes) ? bytes : null;
}
