import { readdirSync, readFileSync } from "node:fs";

/** Reads and parses `/proc` without native code. Every function returns null where a process is gone or hidden. */

export interface ProcStat {
  readonly state: string;
  readonly parent: number;
  readonly session: number;
  /** 0 once every thread has ended. */
  readonly threads: number;
  /** Clock ticks since boot. Identifies a process together with its pid. */
  readonly startTicks: number;
  /** Processor time of children that have ended and were waited for, with that of theirs, in clock ticks. */
  readonly childrenTicks: number;
}

/** `/proc/<pid>/stat`. The command name may contain blanks and brackets, so fields follow the last bracket. */
export function parseStat(text: string): ProcStat | null {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const parent = Number(fields[1]);
  const session = Number(fields[3]);
  const threads = Number(fields[17]);
  const startTicks = Number(fields[19]);
  const childrenTicks = Number(fields[13]) + Number(fields[14]);
  const state = fields[0] ?? "";
  return state !== "" && Number.isInteger(parent) && Number.isInteger(startTicks)
    ? { state, parent, session, threads, startTicks, childrenTicks }
    : null;
}

export function readStat(pid: number): ProcStat | null {
  const text = readText(`/proc/${pid}/stat`);
  return text === null ? null : parseStat(text);
}

/** The numbers of a process in its pid namespaces, from this process's own inwards; empty where they are not known. */
export function namespacePids(pid: number): readonly number[] {
  const line = /^NSpid:(.*)$/m.exec(readText(`/proc/${pid}/status`) ?? "")?.[1];
  return line === undefined ? [] : line.trim().split(/\s+/).map(Number);
}

/** Pids of the machine, as far as this process may see them. */
export function allPids(): number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** Children of every thread of a process; null when the kernel does not list them or the process is gone. */
export function childrenOf(pid: number): number[] | null {
  let tasks: string[];
  try {
    tasks = readdirSync(`/proc/${pid}/task`);
  } catch {
    return null;
  }
  const children: number[] = [];
  let listed = false;
  for (const task of tasks) {
    const text = readText(`/proc/${pid}/task/${task}/children`);
    if (text === null) continue;
    listed = true;
    for (const word of text.split(" ")) if (word !== "") children.push(Number(word));
  }
  return listed ? children : null;
}

/** Whether a process was started with exactly `NAME=value`; "empty" also when that cannot be read. */
export function environmentHolds(pid: number, marker: string): "yes" | "no" | "empty" {
  let environ: Buffer;
  try {
    environ = readFileSync(`/proc/${pid}/environ`);
  } catch {
    return "empty";
  }
  if (environ.length === 0) return "empty";
  const length = Buffer.byteLength(marker);
  for (let at = environ.indexOf(marker); at >= 0; at = environ.indexOf(marker, at + 1)) {
    const end = at + length;
    if ((at === 0 || environ[at - 1] === 0) && (end === environ.length || environ[end] === 0)) return "yes";
  }
  return "no";
}

export function readText(file: string): string | null {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return null;
  }
}
