import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** A root with `size` children, as a data loader or a server keeps them. */
export interface ProcessTree {
  readonly rootPid: number;
  readonly pids: readonly number[];
  end(): void;
}

/**
 * Starts the tree and waits until every child has become the program it is to be.
 * @param program what each child runs; without one they sleep
 */
export async function growTree(size: number, program = "sleep"): Promise<ProcessTree> {
  const script = `i=0; while [ $i -lt ${size} ]; do "$0" 3600 & i=$((i+1)); done; wait`;
  const root = spawn("sh", ["-c", script, program], { detached: true, stdio: "ignore" });
  const rootPid = root.pid;
  if (rootPid === undefined) throw new Error("the benchmark needs sh and sleep");
  const end = () => {
    try {
      process.kill(-rootPid, "SIGKILL");
    } catch {
      // Already gone.
    }
  };
  for (let attempt = 0; attempt < 200; attempt += 1) {
    await delay(20);
    const pids = readFileSync(`/proc/${rootPid}/task/${rootPid}/children`, "utf8")
      .split(" ")
      .filter(Boolean)
      .map(Number);
    const ready = pids.filter((pid) => readFileSync(`/proc/${pid}/comm`, "utf8").trim() === path.basename(program));
    if (ready.length === size) return { rootPid, pids, end };
  }
  end();
  throw new Error(`only part of ${size} processes came up`);
}
