import { allPids, childrenOf, environmentHolds, readStat } from "./proc.ts";

export interface TreeProcess {
  readonly pid: number;
  readonly parent: number;
}

/** Finds a process tree: descendants of a root, and marked processes that left it. Linux only; elsewhere empty. */
export class TreeScan {
  readonly #root: number;
  readonly #rootStart: number | undefined;
  readonly #marker: string | null;
  readonly #perThreadLists: boolean;
  /** Pid → how often its environment is still to be read; 0 = settled. */
  #readings = new Map<number, number>();

  constructor(root: number, marker: string | null) {
    this.#root = root;
    this.#rootStart = readStat(root)?.startTicks;
    this.#marker = marker;
    this.#perThreadLists = childrenOf(process.pid) !== null;
  }

  /** Descendants of the root and of `known` members, which may have been re-parented since; neither is repeated. */
  descendants(known: Iterable<number>): TreeProcess[] {
    const visited = new Set<number>(known);
    // Another process may have got the pid of a root that ended.
    if (readStat(this.#root)?.startTicks === this.#rootStart) visited.add(this.#root);
    const found: TreeProcess[] = [];
    if (!this.#perThreadLists) return this.#byParents(visited);
    const open = [...visited];
    for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
      for (const child of childrenOf(pid) ?? []) {
        if (visited.has(child)) continue;
        visited.add(child);
        found.push({ pid: child, parent: pid });
        open.push(child);
      }
    }
    return found;
  }

  /** Kernels without per-thread lists: the parent of every process of the machine is read. */
  #byParents(visited: Set<number>): TreeProcess[] {
    const parents = new Map<number, number>();
    for (const pid of allPids()) {
      const stat = readStat(pid);
      if (stat !== null) parents.set(pid, stat.parent);
    }
    const found: TreeProcess[] = [];
    for (let grew = true; grew; ) {
      grew = false;
      for (const [pid, parent] of parents) {
        if (visited.has(pid) || !visited.has(parent)) continue;
        visited.add(pid);
        found.push({ pid, parent });
        grew = true;
      }
    }
    return found;
  }

  /** Processes with the marker that were not settled before. It is inherited at fork, so none gets it later. */
  newlyMarked(): TreeProcess[] {
    if (this.#marker === null) return [];
    const readings = new Map<number, number>();
    const found: TreeProcess[] = [];
    for (const pid of allPids()) {
      // Readings until an empty environment counts. Within `exec` it is briefly empty, in kernel threads always.
      const left = this.#readings.get(pid) ?? 3;
      readings.set(pid, left);
      if (left === 0 || pid === this.#root || pid === process.pid) continue;
      const answer = environmentHolds(pid, this.#marker);
      readings.set(pid, answer === "empty" ? left - 1 : 0);
      if (answer === "yes") found.push({ pid, parent: readStat(pid)?.parent ?? 0 });
    }
    this.#readings = readings;
    return found;
  }
}
