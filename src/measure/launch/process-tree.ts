import { setTimeout as sleep } from "node:timers/promises";
import { isHelper } from "../../core/process/child.ts";
import { loadNative, type NativeAddon } from "../../sampler/native.ts";
import { allPids, childrenOf, type ProcStat, readStat, readText } from "../../sampler/proc.ts";
import { TreeScan } from "../../sampler/tree-scan.ts";

export interface Member {
  readonly pid: number;
  readonly startTicks: number;
}

/** Whether a process has ended. Where only its first thread has, it is a zombie that still has threads. */
const hasEnded = ({ state, threads }: ProcStat): boolean => /^[Xx]$/.test(state) || (state === "Z" && threads < 2);

/** Pids of the living launchers, which Node starts in a session of their own, as it does helper programs. */
const launchers = new Set<number>();

/** Register a launcher, or as a negative pid a process group, to end with this process. @returns call at its end */
export function registerLauncher(pid: number): () => void {
  if (launchers.size === 0) process.prependListener("exit", endAllNow);
  launchers.add(pid);
  return () => {
    launchers.delete(pid);
    if (launchers.size === 0) process.off("exit", endAllNow);
  };
}

interface Adoption {
  readonly addon: NativeAddon;
  readonly session: number;
  /** Start of the children that this process had before, by pid. */
  readonly before: ReadonlyMap<number, number>;
}

let adoption: Adoption | null | undefined;

function adopt(): Adoption | null {
  const native = loadNative();
  const own = readStat(process.pid);
  if (own === null || !("addon" in native) || !native.addon.adoptOrphans()) return null;
  const before = new Map<number, number>();
  for (const pid of ownChildren()) before.set(pid, readStat(pid)?.startTicks ?? 0);
  return { addon: native.addon, session: own.session, before };
}

/**
 * Make this process the parent of every process of a measured tree whose own parent dies, the launcher included.
 * @returns whether it is; without the native addon it is not
 */
export function adoptOrphans(): boolean {
  adoption ??= adopt();
  return adoption !== null;
}

function ownChildren(): readonly number[] {
  return childrenOf(process.pid) ?? allPids().filter((pid) => readStat(pid)?.parent === process.pid);
}

/** Living orphans, recognised by a session that is not Node's: none can return to it. Ended ones are reaped. */
function orphans(): Member[] {
  if (!adoption) return [];
  const { addon, session, before } = adoption;
  // Looks until orphans that only end count as none, which bounds what a chain of forks can cost.
  for (let look = 0; look < 100; look++) {
    const living: Member[] = [];
    let reaped = 0;
    for (const pid of ownChildren()) {
      if (launchers.has(pid) || isHelper(pid)) continue;
      const stat = readStat(pid);
      if (stat === null || stat.parent !== process.pid || stat.session === session) continue;
      const { startTicks } = stat;
      if (before.get(pid) === startTicks) continue;
      if (!hasEnded(stat)) living.push({ pid, startTicks });
      else if (addon.reap(pid)) reaped++;
    }
    // One that ended after it was listed has left its children to this process, which the list does not hold.
    if (living.length > 0 || reaped === 0) return living;
  }
  return [];
}

function isGone(pid: number): boolean {
  const stat = readStat(pid);
  return stat === null || hasEnded(stat);
}

/** Time of {@link endAllNow}, whose processes end within milliseconds. */
const END_NOW_MS = 300;

/** Before the handlers of the exit that write outputs: nothing of the change may write after them. */
function endAllNow(): void {
  for (const pid of launchers) sendSignal(pid, "SIGKILL");
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (const until = performance.now() + END_NOW_MS; performance.now() < until; Atomics.wait(pause, 0, 0, 1)) {
    const left = orphans();
    for (const { pid } of left) sendSignal(pid, "SIGKILL");
    if (left.length === 0 && [...launchers].every(isGone)) return;
  }
}

/** Orphans are killed without a pause for this long, so that none can fork faster than it is found. */
const BURST_MS = 5;

/**
 * Kill every orphan until there is none. What a killed process leaves becomes an orphan as well, so whole trees end.
 * @returns those that are still alive after `ms`
 */
export async function endOrphans(ms: number): Promise<readonly Member[]> {
  const until = performance.now() + ms;
  for (;;) {
    for (const end = performance.now() + BURST_MS; performance.now() < end; ) {
      const left = orphans();
      if (left.length === 0) return [];
      // The pid of a child is not given to another process before it was reaped.
      for (const { pid } of left) sendSignal(pid, "SIGKILL");
    }
    if (performance.now() >= until) return orphans();
    await sleep(1);
  }
}

/**
 * Living members of a measured tree: descendants, orphans, processes with the marker, and earlier members (to find one
 * that was re-parented and cleared its environment). Linux only; elsewhere it is empty.
 */
export class ProcessTree {
  readonly #scan: TreeScan;
  readonly #known = new Map<number, Member>();

  /** @param marker `NAME=value` in the environment of every member; null where none can leave the tree */
  constructor(root: number, marker: string | null) {
    this.#scan = new TreeScan(root, marker);
  }

  /** Scan again; the root is not a member. */
  members(): Member[] {
    for (const { pid, startTicks } of this.#known.values()) {
      const stat = readStat(pid);
      if (stat === null || stat.startTicks !== startTicks || hasEnded(stat)) this.#known.delete(pid);
    }
    for (const orphan of orphans()) this.#known.set(orphan.pid, orphan);
    for (const { pid } of [...this.#scan.descendants(this.#known.keys()), ...this.#scan.newlyMarked()]) {
      const stat = readStat(pid);
      if (stat !== null && !hasEnded(stat)) this.#known.set(pid, { pid, startTicks: stat.startTicks });
    }
    return [...this.#known.values()];
  }
}

/** Send a signal to a member that is still the same process; one that has ended or is not ours is ignored. */
export function signalMember({ pid, startTicks }: Member, signal: NodeJS.Signals): void {
  if (readStat(pid)?.startTicks === startTicks) sendSignal(pid, signal);
}

export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended, or runs as another user: the caller scans again and reports the rest.
  }
}

/** The name a process goes by, for a message. */
export function processName(pid: number): string {
  return readText(`/proc/${pid}/comm`)?.trim() || "?";
}

/** The pid by which a process knows itself, which is another one behind a wall. */
export function ownPid(pid: number): number {
  return Number(/^NSpid:.*\t(\d+)$/m.exec(readText(`/proc/${pid}/status`) ?? "")?.[1] ?? pid);
}
