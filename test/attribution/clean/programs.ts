import path from "node:path";
import { fileURLToPath } from "node:url";

/** What a program of the corpus needs besides Node. */
type Runtime = "node" | "python" | "pytorch";

/** A program that holds memory and does not leak. Its comment says what it holds, and why that is bounded. */
export interface CleanProgram {
  readonly name: string;
  readonly runtime: Runtime;
  readonly command: readonly [string, ...string[]];
  /** The verdict may be red without a baseline, although no line leaks. */
  readonly mayFail: boolean;
}

/** Debian's Python, whose PyTorch is the one that CI installs; another Python can be selected. */
export const PYTHON = process.env.STORMLOG_TEST_TORCH_PYTHON ?? "/usr/bin/python3";

/** Directory of the programs. */
export const PROGRAMS = fileURLToPath(new URL("programs", import.meta.url));
const EXECUTABLE: Readonly<Record<Runtime, string>> = { node: process.execPath, python: PYTHON, pytorch: PYTHON };

/**
 * Caches of 9 and 10 MiB that are full at 70 and 65 % of the run: the slope over the whole run is more than what is
 * material, and a ramp counts as ended only when it is flat for 40 % of the run.
 */
const MAY_FAIL: readonly string[] = ["python-fill-9-70-closure", "pytorch-fill-10-65-list"];

/** A program by its file and arguments, as in `python/fill.py 4 30 dict`. */
function program(line: string): CleanProgram {
  const [file = "", ...args] = line.split(" ");
  const [runtime, base = ""] = file.split("/") as [Runtime, string];
  const name = [runtime, path.parse(base).name, ...args].join("-");
  return {
    name,
    runtime,
    command: [EXECUTABLE[runtime], path.join(PROGRAMS, file), ...args],
    mayFail: MAY_FAIL.includes(name),
  };
}

/**
 * Caches of 4 to 10 MiB that are filled during the whole run, of rounds of 20 ms: no run shows that they stop. A line
 * may be named, with a warning.
 */
export const fillingCaches = (rounds: number): readonly CleanProgram[] =>
  [
    ...["4 dict", "5 texts", "6 counter", "7 rows", "8 attributes", "6 unbounded", "10 bounded", "4 sqlite"].map(
      (which) => `python/cache.py ${which} ${rounds}`,
    ),
    "node/fill.mjs 6 100 map",
    "node/fill.mjs 9 100 array",
  ].map(program);

/** Every program of the corpus. None leaks, so a line that is named in one of them is wrong. */
export const CLEAN_PROGRAMS: readonly CleanProgram[] = [
  "python/local_table.py",
  "python/global_table.py",
  "python/lazy_attribute.py",
  "python/closure_scratch.py",
  "python/lazy_modules.py",
  "python/warm_up.py",
  "python/lru_turnover.py",
  "python/ordered_lru.py",
  "python/bounded_cache.py",
  "python/early_list.py",
  "python/connection_pool.py",
  "python/thread_pool.py",
  "python/buffer_pool.py",
  "python/regex_cache.py",
  "python/interned_words.py",
  "python/memoised.py",
  "python/log_ring.py",
  "python/queue_in_balance.py",
  "python/fragmentation.py",
  "python/batch_flush.py",
  "python/weak_values.py",
  "python/collected_cycles.py",
  "python/tasks_in_flight.py",
  "python/table_ring.py",
  "python/labelled_metrics.py",
  "python/process_pool.py",
  "python/fill.py 4 10 dict",
  "python/fill.py 10 50 deque",
  "python/fill.py 6 30 attribute",
  "python/fill.py 9 70 closure",
  "pytorch/late_local.py",
  "pytorch/plain_training.py",
  "pytorch/evaluation_buffers.py",
  "pytorch/replay_ring.py",
  "pytorch/traced_shapes.py",
  "pytorch/key_value_cache.py",
  "pytorch/largest_batch.py",
  "pytorch/last_activation.py",
  "pytorch/best_checkpoint.py",
  "pytorch/average_model.py",
  "pytorch/accumulated_gradients.py",
  "pytorch/truncated_sequence.py",
  "pytorch/fill.py 5 20 dict",
  "pytorch/fill.py 8 40 list",
  "pytorch/fill.py 10 65 list",
  "node/local-buffer.mjs",
  "node/module-table.mjs",
  "node/lazy-index.mjs",
  "node/closure-scratch.mjs",
  "node/lazy-modules.mjs",
  "node/lru-map.mjs",
  "node/keep-alive-service.mjs",
  "node/buffer-pool.mjs",
  "node/queue-in-balance.mjs",
  "node/log-ring.mjs",
  "node/memoised.mjs",
  "node/templates.mjs",
  "node/listeners.mjs",
  "node/sliding-window.mjs",
  "node/worker-pool.mjs",
  "node/gzip-streams.mjs",
  "node/expiring-sessions.mjs",
  "node/busy-parser.mjs",
  "node/fill.mjs 5 25 map",
  "node/fill.mjs 8 60 array",
  "node/fill.mjs 10 45 object",
].map(program);
