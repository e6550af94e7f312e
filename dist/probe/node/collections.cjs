"use strict";

// Collections in Node programs: loaded by `--require` (through NODE_OPTIONS) in a run that repeats one whose memory
// grew, and in no other. V8 lets its heap grow before it collects, so a short run grows whether or not anything leaks.
// Here every thread collects its whole heap several times a second, and what is left after it is written into a ring:
// memory that the program keeps. Costs a run a tenth of its time at most.
//
// Never throws into the program, prints nothing, and keeps no process alive. A thread that never waits is not seen.

const { isPackageManager, report, stopwatch } = require("./program.cjs");

/** A process that ends sooner leaves no trace. */
const DELAY_MS = 100;
const PERIOD_MS = 250;
/** Waits so many times as long as the collection took. */
const PATIENCE = 9;
const TIMER = 1;

/** V8's own function, without giving it to the program. */
function collector() {
  const v8 = require("node:v8");
  v8.setFlagsFromString("--expose-gc");
  try {
    return require("node:vm").runInNewContext("gc");
  } finally {
    if (typeof globalThis.gc !== "function") v8.setFlagsFromString("--no-expose-gc");
  }
}

/** Collects the heap of this thread for as long as it runs, and records what is left. */
function collect(directory, quietly) {
  const v8 = require("node:v8");
  const { Ring } = require("./ring.cjs");
  const ring = Ring.create(directory, require("node:worker_threads").threadId);
  const gc = collector();
  const once = () => {
    const worked = stopwatch();
    gc();
    const tookMs = worked();
    // External memory is that of buffers, which lives as long as the objects of the heap that hold it.
    const { used_heap_size, external_memory } = v8.getHeapStatistics();
    ring.put(used_heap_size + external_memory, TIMER);
    setTimeout(() => quietly(once), Math.max(PERIOD_MS, PATIENCE * tookMs)).unref();
  };
  once();
}

function start() {
  const { env } = process;
  const directory = env.STORMLOG_GATE_PROBE_DIR;
  // Electron's processes are not those of Node: their V8 may refuse a collection at any moment.
  if (!directory || process.versions.electron || isPackageManager()) return;
  const quietly = (run) => {
    try {
      run();
    } catch (error) {
      // The program may have removed the directory or left it behind (chroot).
      report(error, "collections");
    }
  };
  setTimeout(() => quietly(() => collect(directory, quietly)), DELAY_MS).unref();
  // A worker that is terminated cannot report its end, so the thread that started it does.
  process.on("worker", (worker) => {
    const { threadId } = worker;
    worker.once("exit", () => quietly(() => require("./ring.cjs").endOf(directory, threadId)));
  });
}

try {
  start();
} catch {
  // Never an error of the program's.
}
