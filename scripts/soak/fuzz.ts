// Executions of all readers of outside files in a process of their own, which is ended when it no longer reports.
import { fork } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";

/**
 * A batch has 256 executions of less than a millisecond; each is bounded by its own processor time as well. One that
 * has not reported for LOOK_MS hangs if it has used HANG_CPU_MS of a processor, or none; beside other work it may wait
 * for any time.
 */
const LOOK_MS = 60_000;
const HANG_CPU_MS = 30_000;
const IDLE_CPU_MS = 10;
const MAX_FAULTS = 20;

export interface FuzzRound {
  readonly executions: number;
  /** Those of plain text readers. */
  readonly text: number;
  readonly faults: readonly string[];
}

type Message =
  | { readonly kind: "beat"; readonly done: number; readonly text: number }
  | {
      readonly kind: "fault";
      readonly reader: string;
      readonly fault: string;
      readonly at: number;
      readonly input: string;
    };

/** Time that a processor worked for the main thread, milliseconds; NaN where the system does not say. */
function processorMs(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
  } catch {
    return Number.NaN;
  }
}

export function fuzzRound(count: number, seed: number): Promise<FuzzRound> {
  const faults: string[] = [];
  let [executions, text] = [0, 0];
  const child = fork(path.join(import.meta.dirname, "fuzz-worker.ts"), [String(count), String(seed)], {
    execArgv: ["--import", "tsx", "--max-old-space-size=900"],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const end = (fault: string): void => {
      faults.push(`seed ${seed}, after ${executions} executions: ${fault}`);
      child.kill("SIGKILL");
    };
    const watch = (): void => {
      clearTimeout(timer);
      const reported = processorMs(child.pid);
      const look = (before: number): void => {
        const now = processorMs(child.pid);
        if (now - reported < HANG_CPU_MS && now - before > IDLE_CPU_MS) {
          timer = setTimeout(() => look(now), LOOK_MS);
        } else end(`no report within ${Math.round(now - reported)} ms of a processor`);
      };
      timer = setTimeout(() => look(reported), LOOK_MS);
    };
    watch();
    child.on("message", (message: Message) => {
      watch();
      if (message.kind === "beat") {
        executions = message.done;
        text = message.text;
        return;
      }
      const { reader, fault, at, input } = message;
      faults.push(`seed ${seed}, execution ${at}, ${reader}: ${fault}\n${input.slice(0, 4000)}`);
      if (faults.length >= MAX_FAULTS) child.kill("SIGKILL");
    });
    child.on("error", reject);
    child.on("exit", (code) => {
      clearTimeout(timer);
      if (executions < count && faults.length === 0) end(`ended with ${code}`);
      resolve({ executions, text, faults });
    });
  });
}
