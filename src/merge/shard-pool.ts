import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { Worker } from "node:worker_threads";
import { GateError, messageOf } from "../core/errors.ts";
import { packageRoot } from "../core/package-root.ts";
import type { Horizon } from "../core/units.ts";
import { readShard, type ShardAnswer, type ShardOptions } from "./shard-read.ts";

/** The message to a worker, which replies with a {@link ShardAnswer}. */
export interface ShardTask {
  readonly directory: string;
  readonly options: ShardOptions;
}

/** Which of the stored features are compared with their samples. */
export type SampleVerification = "some" | "all";

/** One in this many shards, drawn for each, is compared. */
const ONE_IN = 64;

/** Fewer shards are read before a second thread has started. */
const WORTH_A_THREAD = 8;
/** More threads do not read faster from one disk, and each keeps a shard in memory. */
const MAX_THREADS = 2;

/** The built program of the thread; null in a source checkout, because Node runs no TypeScript in a thread. */
function workerFile(): string | null {
  const file = path.join(packageRoot(), "dist", "shard-worker.js");
  return import.meta.url.endsWith(".ts") || !existsSync(file) ? null : file;
}

type Take = (answer: ShardAnswer) => void;

/** A thread that takes directories from the queue until it is empty, and empties it when it fails. */
export function reader(file: string, queue: ShardTask[], take: Take): Promise<void> {
  const worker = new Worker(file, {
    // Bounds the garbage that reading a shard's columns leaves; without it, V8 collects it late.
    resourceLimits: { maxYoungGenerationSizeMb: 32 },
    // The options of the parent process may name files that a thread must not load.
    execArgv: [],
  });
  return new Promise<void>((resolve, reject) => {
    let task: ShardTask | undefined;
    const readNext = () => {
      task = queue.shift();
      if (task === undefined) {
        void worker.terminate();
        resolve();
      } else worker.postMessage(task);
    };
    const failed = (cause: unknown) => {
      void worker.terminate();
      queue.length = 0;
      const message = `a thread that reads recordings failed${task === undefined ? "" : ` at ${task.directory}`} (${messageOf(cause)})`;
      const hint = "Merge fewer recordings at once.";
      reject(cause instanceof GateError ? cause : new GateError("MERGE_READER_LOST", message, { hint, cause }));
    };
    worker.on("message", (answer: ShardAnswer) => {
      try {
        take(answer);
        readNext();
      } catch (cause) {
        failed(cause);
      }
    });
    worker.on("error", failed);
    worker.on("messageerror", failed);
    readNext();
  });
}

/**
 * Read shards, two at a time where there are many and the machine has the cores. `take` receives them in any order.
 * @throws GateError MERGE_READER_LOST, those of `take`
 */
export async function readShards(
  directories: readonly string[],
  { horizon, verification }: { readonly horizon: Horizon | null; readonly verification: SampleVerification },
  take: Take,
): Promise<void> {
  const isVerified = (): boolean => verification === "all" || randomInt(ONE_IN) === 0;
  const queue = directories.map((directory): ShardTask => ({ directory, options: { horizon, verify: isVerified() } }));
  const threads = Math.min(MAX_THREADS, availableParallelism());
  const file = workerFile();
  if (threads < 2 || queue.length < WORTH_A_THREAD || file === null) {
    for (const { directory, options } of queue) take(await readShard(directory, options));
    return;
  }
  await Promise.all(Array.from({ length: threads }, () => reader(file, queue, take)));
}
