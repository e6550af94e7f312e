import { parentPort } from "node:worker_threads";
import type { ShardTask } from "./shard-pool.ts";
import { readShard } from "./shard-read.ts";

/** A thread that reads one shard per message. */
parentPort?.on("message", ({ directory, options }: ShardTask) => {
  void readShard(directory, options).then((answer) => parentPort?.postMessage(answer));
});
