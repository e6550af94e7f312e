import { readStat, readText } from "../../sampler/proc.ts";
import { TreeScan } from "../../sampler/tree-scan.ts";

export interface Member {
  readonly pid: number;
  readonly startTicks: number;
}

/** States of ended processes: zombie and dead. */
const ENDED = new Set(["Z", "X", "x"]);

/**
 * Living members of a measured tree: descendants, processes with the marker, and earlier members (to find one that was
 * re-parented and cleared its environment). Linux only; elsewhere it is empty.
 */
export class ProcessTree {
  readonly #scan: TreeScan;
  readonly #known = new Map<number, Member>();

  /** @param marker `NAME=value` in the environment of every member */
  constructor(root: number, marker: string) {
    this.#scan = new TreeScan(root, marker);
  }

  /** Scan again; the root is not a member. */
  members(): Member[] {
    for (const { pid, startTicks } of this.#known.values()) {
      const stat = readStat(pid);
      if (stat === null || stat.startTicks !== startTicks || ENDED.has(stat.state)) this.#known.delete(pid);
    }
    for (const { pid } of [...this.#scan.descendants(this.#known.keys()), ...this.#scan.newlyMarked()]) {
      const stat = readStat(pid);
      if (stat !== null && !ENDED.has(stat.state)) this.#known.set(pid, { pid, startTicks: stat.startTicks });
    }
    return [...this.#known.values()];
  }
}

/** Send a signal to a member that is still the same process; one that has ended or is not ours is ignored. */
export function signalMember({ pid, startTicks }: Member, signal: NodeJS.Signals): void {
  if (readStat(pid)?.startTicks !== startTicks) return;
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
