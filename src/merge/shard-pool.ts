import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { Worker } from "node:worker_threads";
import { GateError } from "../core/errors.ts";
import { packageRoot } from "../core/package-root.ts";
import { readShard, type ShardAnswer, type ShardOptions } from "./shard-read.ts";

/** What a worker is sent; it answers with a {@link ShardAnswer} for each directory. */
export interface ShardTask {
  readonly directory: string;
  readonly options: ShardOptions;
}

/** Fewer shards are read sooner than a second thread would have started. */
const WORTH_A_THREAD = 8;
/** More threads read no faster from one disk, and every one holds a shard. */
const MAX_THREADS = 2;
/** A shard's columns and what the reader makes of them on the way; without it, memory that is free is collected late. */
const YOUNG_MEBIBYTES = 32;

/** The thread's own program; null for sources, which no thread of Node's reads as they are. */
function workerFile(): string | null {
  const file = path.join(packageRoot(), "dist", "shard-worker.js");
  return import.meta.url.endsWith(".ts") || !existsSync(file) ? null : file;
}

async function inThisThread(directories: readonly string[], options: ShardOptions, take: Take): Promise<void> {
  for (const directory of directories) take(await readShard(directory, options));
}

type Take = (answer: ShardAnswer) => void;

/** What is still to be read. */
interface Queue {
  readonly next: () => string | undefined;
  /** Nothing more is read: one of the readers was lost. */
  readonly stop: () => void;
}

/** One thread that reads whatever is next until nothing is left. */
function reader(file: string, queue: Queue, options: ShardOptions, take: Take): Promise<void> {
  const worker = new Worker(file, {
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MEBIBYTES },
    // Node's own options are those of the program that asked, and may name files that a thread must not load.
    execArgv: [],
  });
  return new Promise<void>((resolve, reject) => {
    let asked: string | undefined;
    const ask = () => {
      asked = queue.next();
      if (asked === undefined) {
        void worker.terminate();
        resolve();
      } else worker.postMessage({ directory: asked, options } satisfies ShardTask);
    };
    const failed = (cause: unknown) => {
      void worker.terminate();
      queue.stop();
      const told = cause instanceof Error ? cause.message : String(cause);
      const message = `a thread that reads recordings ended${asked === undefined ? "" : ` at ${asked}`} (${told})`;
      reject(new GateError("MERGE_READER_LOST", message, { kind: "error", hint: "Merge fewer at a time.", cause }));
    };
    worker.on("message", (answer: ShardAnswer) => {
      take(answer);
      ask();
    });
    worker.on("error", failed);
    worker.on("messageerror", failed);
    ask();
  });
}

/**
 * Read shards one after the other, two at a time where there are many and the machine has the cores; what is not small is gone
 * before the next one. `take` gets the answers in no order.
 * @throws GateError MERGE_READER_LOST
 */
export async function readShards(directories: readonly string[], options: ShardOptions, take: Take): Promise<void> {
  const threads = Math.min(MAX_THREADS, availableParallelism());
  const file = workerFile();
  if (threads < 2 || directories.length < WORTH_A_THREAD || file === null) {
    return inThisThread(directories, options, take);
  }
  let at = 0;
  const queue: Queue = {
    next: () => directories[at++],
    stop: () => {
      at = directories.length;
    },
  };
  await Promise.all(Array.from({ length: threads }, () => reader(file, queue, options, take)));
}
