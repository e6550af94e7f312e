// Executions of all readers of outside files in a process of their own, which is ended when it no longer reports.
import { fork } from "node:child_process";
import path from "node:path";

/** A batch has 256 executions of less than a millisecond; each is bounded by its own processor time as well. */
const HANG_MS = 60_000;
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
      timer = setTimeout(() => end(`no report for ${HANG_MS} ms`), HANG_MS);
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
