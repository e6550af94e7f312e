import { readStat, readText } from "../../sampler/proc.ts";
import { TreeScan } from "../../sampler/tree-scan.ts";

export interface Member {
  readonly pid: number;
  readonly startTicks: number;
}

/** States in which nothing runs any more: zombie and dead. */
const ENDED = new Set(["Z", "X", "x"]);

/**
 * The living members of a measured tree: descendants of the root, everything that carries the marker, and whoever was a
 * member once and still lives (a process that was re-parented and cleared its environment is found only this way). Linux
 * only; elsewhere it knows nobody.
 */
export class ProcessTree {
  readonly #scan: TreeScan;
  readonly #known = new Map<number, Member>();

  /** @param marker `NAME=value` in the environment of every member */
  constructor(root: number, marker: string) {
    this.#scan = new TreeScan(root, marker);
  }

  /** Look anew; the root itself is no member. */
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

/** Send a signal to a member that is still the same process; one that is gone or not ours is no error. */
export function signalMember({ pid, startTicks }: Member, signal: NodeJS.Signals): void {
  if (readStat(pid)?.startTicks !== startTicks) return;
  try {
    process.kill(pid, signal);
  } catch {
    // Ended in between, or runs as another user: the caller looks again and reports who is left.
  }
}

/** The name a process goes by, for a message. */
export function processName(pid: number): string {
  return readText(`/proc/${pid}/comm`)?.trim() || "?";
}
