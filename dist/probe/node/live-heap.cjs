"use strict";

// What V8's heap keeps, in each thread of a Node program: bytes of the heap with its buffers after a full collection,
// written into a ring. V8 lets its heap grow before it collects, so without these readings a program of some seconds
// grows whether or not it leaks. In a run whose peak is judged nothing is collected before a thread has done its work:
// - after each full collection that V8 makes by itself;
// - after one that is made when the thread ends (by itself, by `process.exit()` or by `worker.terminate()`).
// In a run that repeats one (STORMLOG_GATE_COLLECT), every thread collects several times a second, for at most a tenth
// of its time.
//
// Never throws into the program, prints nothing, and keeps no process alive. Functions are taken before the program can
// replace them. Not seen: collections of a thread that never waits, and the end of a process that is killed.

const v8 = require("node:v8");
const { runInNewContext } = require("node:vm");
const { BroadcastChannel, isMainThread, threadId, Worker } = require("node:worker_threads");
const { isPackageManager, report, stopwatch } = require("./program.cjs");
const { endOf, LIVE, FINAL, Ring } = require("./ring.cjs");

const { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } = v8;
const { memoryUsage } = process;
const { fstatSync } = require("node:fs");
const { apply } = Reflect;
const { defineProperty } = Object;
const { load, notify, store, wait } = Atomics;
const now = performance.now.bind(performance);
const { max } = Math;
const later = setTimeout;

/** A process that ends sooner leaves no trace. */
const DELAY_MS = 100;
const PERIOD_MS = 250;
/** Waits so many times as long as the collection took. */
const PATIENCE = 9;
/** V8 counts buffers that it has collected until another thread has released them. */
const RELEASE_MS = 10;
/** A thread that ends sooner, or has a larger heap, is not kept waiting for a collection. */
const MIN_FINAL_MS = 1000;
const MAX_FINAL_BYTES = 256 * 2 ** 20;
/** How long a thread waits for all those that it ends, and for one of them. Some 20 ms on a machine at rest. */
const MAX_WAITS_MS = 1200;
const MAX_WAIT_MS = 600;
/** How often the size of the heap is read, and how long V8 keeps pages that it has freed. */
const SIZE_MS = 200;
const POOL_MS = 8000;

function quietly(run) {
  return (...values) => {
    try {
      return apply(run, undefined, values);
    } catch (error) {
      // The program may have removed the directory or left it behind (chroot).
      report(error, "live heap");
      return undefined;
    }
  };
}

/** A timer that keeps no process alive, with the function that does so as it was before the program began. */
const { unref } = Object.getPrototypeOf(later(() => {}, 0).unref());
const after = (ms, run) => apply(unref, later(quietly(run), ms), []);

/** V8's own function, without giving it to the program. Another thread may reset the flag at the same time. */
function collector() {
  for (let left = 3; ; left -= 1) {
    setFlagsFromString("--expose-gc");
    try {
      return runInNewContext("gc");
    } catch (error) {
      if (left === 1) throw error;
    } finally {
      if (typeof globalThis.gc !== "function") setFlagsFromString("--no-expose-gc");
    }
  }
}

/**
 * Bytes of this thread's buffers. `memoryUsage` opens a file, and libuv would abort a program that has closed its
 * standard streams when that file takes one's number. V8's own count lags behind.
 */
function bufferBytes() {
  try {
    for (let stream = 0; stream < 3; stream += 1) fstatSync(stream);
  } catch (_) {
    return getHeapStatistics().external_memory;
  }
  return memoryUsage().arrayBuffers;
}

/**
 * Bytes that a collection has left, some time after it. Young objects were made since then, or are looked at by the
 * next one.
 */
function oldBytes() {
  const spaces = getHeapSpaceStatistics();
  let bytes = bufferBytes();
  for (let i = 0; i < spaces.length; i += 1) {
    const { space_name: name, space_used_size: used } = spaces[i];
    if (name !== "new_space" && name !== "new_large_object_space") bytes += used;
  }
  return bytes;
}

/** Collects, and returns the bytes that are left. */
function collected(gc) {
  gc();
  // A collection begins with releasing the buffers that the one before has found.
  gc({ type: "minor" });
  return getHeapStatistics().used_heap_size + bufferBytes();
}

/** The readings of this thread. */
class LiveHeap {
  constructor(directory) {
    this.ring = new Ring(directory, threadId);
    this.registry = null;
    this.size = { since: now(), highest: 0, before: 0 };
  }

  /** What V8 takes of the host: pages that it has freed stay in its pool for some time. */
  taken() {
    const { size } = this;
    const { total_physical_size: bytes } = getHeapStatistics();
    if (now() - size.since > POOL_MS) {
      this.size = { since: now(), highest: bytes, before: size.highest };
    } else if (bytes > size.highest) size.highest = bytes;
    return max(this.size.highest, this.size.before) + bufferBytes();
  }

  /** @param live bytes that a collection has left; null without one  @param reason of the record */
  put(live, reason) {
    this.ring.put(live, this.taken(), reason);
  }

  /** Reads the size for as long as the thread runs. */
  measure() {
    this.put(null, LIVE);
    after(SIZE_MS, () => this.measure());
  }

  /** Collects for as long as the thread runs. */
  collect() {
    const gc = collector();
    const once = () => {
      const worked = stopwatch();
      this.put(collected(gc), LIVE);
      after(max(PERIOD_MS, PATIENCE * worked()), once);
    };
    once();
  }

  /** Waits for V8's own collections: only a full one looks at what a registry holds, and then it finds this garbage. */
  follow() {
    this.registry = new FinalizationRegistry(
      quietly(() => {
        const first = oldBytes();
        watch();
        after(RELEASE_MS, () => {
          const second = oldBytes();
          this.put(first < second ? first : second, LIVE);
        });
      }),
    );
    const { register } = this.registry;
    const watch = () => apply(register, this.registry, [{}, 0]);
    watch();
  }

  /** The thread ends now. */
  final() {
    if (now() < MIN_FINAL_MS || getHeapStatistics().used_heap_size > MAX_FINAL_BYTES) return;
    this.put(collected(collector()), FINAL);
  }
}

/** Threads that this thread started, which cannot report what they keep when they are ended from outside. */
class Threads {
  constructor(directory) {
    this.directory = directory;
    this.channel = null;
    this.running = [];
    this.leftMs = MAX_WAITS_MS;
  }

  follow() {
    process.on(
      "worker",
      quietly((worker) => {
        const { threadId: id } = worker;
        this.running[this.running.length] = id;
        worker.once(
          "exit",
          quietly(() => {
            this.forget(id);
            endOf(this.directory, id);
          }),
        );
      }),
    );
    const { terminate } = Worker.prototype;
    const ask = quietly((id) => this.ask(id));
    const followed = {
      terminate(...values) {
        ask(this.threadId);
        return apply(terminate, this, values);
      },
    }.terminate;
    defineProperty(followed, "length", { value: terminate.length, configurable: true });
    defineProperty(Worker.prototype, "terminate", { value: followed, writable: true, configurable: true });
  }

  forget(id) {
    const left = [];
    for (let i = 0; i < this.running.length; i += 1) if (this.running[i] !== id) left[left.length] = this.running[i];
    this.running = left;
  }

  /** Has one thread collect and record what it keeps, and waits for that. */
  ask(id) {
    if (!(id > 0) || this.leftMs <= 0) return;
    this.channel ??= channelOf();
    const done = new Int32Array(new SharedArrayBuffer(4));
    const began = now();
    this.channel.postMessage({ id, done });
    wait(done, 0, 0, this.leftMs < MAX_WAIT_MS ? this.leftMs : MAX_WAIT_MS);
    this.leftMs -= now() - began;
  }

  askAll() {
    const all = this.running;
    for (let i = 0; i < all.length; i += 1) this.ask(all[i]);
  }
}

/** Between threads of this process. */
function channelOf() {
  const channel = new BroadcastChannel("stormlog-gate live heap");
  channel.unref();
  return channel;
}

/** Collects when the thread that started this one asks for it. */
function answer(heap) {
  const channel = channelOf();
  const final = quietly(() => heap.final());
  channel.onmessage = quietly(({ data: { id, done } }) => {
    if (id !== threadId || load(done, 0) !== 0) return;
    final();
    store(done, 0, 1);
    notify(done, 0);
  });
}

/** @param collects whether the run repeats another one, so that collections may lower its peak */
function start(directory, collects) {
  if (isPackageManager()) return;
  const heap = new LiveHeap(directory);
  const threads = new Threads(directory);
  threads.follow();
  if (collects) {
    after(DELAY_MS, () => heap.collect());
    return;
  }
  after(DELAY_MS, () => heap.measure());
  heap.follow();
  if (!isMainThread) answer(heap);
  process.on(
    "exit",
    quietly(() => {
      threads.askAll();
      heap.final();
    }),
  );
}

module.exports = { start };
