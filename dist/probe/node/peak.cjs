"use strict";

// What the memory of a thread consists of at its peak: V8's samples of objects, and each buffer with the line that made
// it. Kept in memory, and written down at given moments and at the end, so that a killed program leaves a document.

const { getHeapStatistics } = require("node:v8");
const { Buffers } = require("./buffers.cjs");
const { ProcessDocuments } = require("./documents.cjs");
const { Heap } = require("./heap.cjs");
const { report, stopwatch } = require("./program.cjs");
const { parseMoments, runAge, Schedule } = require("./schedule.cjs");
const { DEPTH, resolveFrame } = require("./stacks.cjs");

const SCHEMA = "stormlog.native/1";
/** Mean bytes between two samples: a difference of 2 MiB, the smallest that fails, has 64. */
const SAMPLING_BYTES = 32_768;
const LOOK_MS = 20;
/** Reading what lives collects the heap, which takes at most this share of the time, and this much at first. */
const MAX_SHARE = 0.25;
const CREDIT_MS = 100;
/** What lives is read again once the heap with its garbage is so much larger than what lived at most. */
const HIGHER_SHARE = 1.03;
const HIGHER_BYTES = 2 ** 19;
const MAX_STACKS = 2000;
const MAX_INPUT = 400;
/** Settings that change how much memory a program takes. Other variables may be secrets. */
const SETTINGS = ["NODE_ENV", "UV_THREADPOOL_SIZE"];

/** What the heap holds, garbage included, and what lies outside of it in buffers; bytes. */
function held() {
  const { used_heap_size, external_memory } = getHeapStatistics();
  return used_heap_size + external_memory;
}

class Peak {
  static of(directory, at) {
    const moments = parseMoments(at);
    return moments === null ? null : new Peak(directory, moments);
  }

  constructor(directory, moments) {
    this.documents = new ProcessDocuments(directory);
    this.buffers = new Buffers(() => this.look());
    this.schedule = new Schedule(moments, null, runAge(directory), (moment) => this.write(moment));
    this.looking = false;
    this.spentMs = 0;
    // What V8 itself holds; null before it was first read.
    this.engine = null;
    this.objects = [];
    this.peak = null;
    this.written = null;
  }

  start() {
    this.beganMs = performance.now();
    this.heap = new Heap(SAMPLING_BYTES);
    this.buffers.start();
    setInterval(() => this.look(), LOOK_MS).unref();
    this.schedule.start();
    process.on("exit", () => this.finish());
  }

  /** At the end, in place of the moments that were not reached. */
  finish() {
    this.spentMs = 0;
    this.look();
    const { next } = this.schedule;
    this.schedule.stop();
    this.write(next);
  }

  /** Called by a timer, and by every buffer that is made: a loop that never waits lets no timer run. */
  look() {
    if (this.looking || held() < HIGHER_SHARE * ((this.engine ?? 0) + (this.peak?.bytes ?? 0)) + HIGHER_BYTES) return;
    if (this.spentMs > CREDIT_MS + MAX_SHARE * (performance.now() - this.beganMs)) return;
    this.looking = true;
    const worked = stopwatch();
    try {
      this.read();
    } catch (error) {
      report(error);
    } finally {
      this.looking = false;
      this.spentMs += worked();
    }
  }

  /** Collects the heap, unless that takes too long, and keeps what lives where it is the most so far. */
  read() {
    const time = Number(process.hrtime.bigint());
    if (this.heap.readable) this.objects = this.heap.sampled();
    const buffers = this.buffers.stacks();
    const stacks = [...this.objects];
    for (const { bytes, frames, buffers: own } of buffers) stacks.push({ bytes, count: own.length, frames });
    // Not the heap's own sum: V8 counts buffers that it has collected until another thread has released them.
    const bytes = stacks.reduce((sum, stack) => sum + stack.bytes, 0);
    this.engine ??= Math.max(0, held() - bytes);
    if (this.peak !== null && bytes <= this.peak.bytes) return;
    this.peak = { time, bytes, stacks, note: this.heap.note };
  }

  write(moment) {
    const { peak } = this;
    if (peak === null || peak === this.written) return;
    try {
      const stacks = [...peak.stacks].sort((a, b) => b.bytes - a.bytes).slice(0, MAX_STACKS);
      this.documents.write(`native.${moment}`, {
        schema: SCHEMA,
        pid: process.pid,
        moment,
        step: null,
        time_ns: peak.time,
        interval_bytes: SAMPLING_BYTES,
        total_bytes: peak.bytes,
        inputs: inputs(),
        notes: peak.note === null ? [] : [peak.note],
        stacks: stacks.map(({ bytes, count, frames }) => ({
          bytes,
          count,
          parts: [[null, null, 0, bytes, count]],
          native: [],
          python: frames.slice(0, DEPTH).map((frame) => {
            const { file, line, function: name } = resolveFrame(frame);
            return [file, line, name, null];
          }),
        })),
        modules: [],
      });
      this.written = peak;
    } catch (error) {
      report(error);
    }
  }
}

/** What the program was started with. */
function inputs() {
  const found = { arguments: process.argv.slice(2).join(" "), Node: process.versions.node };
  for (const name of SETTINGS) if (process.env[name] !== undefined) found[name] = process.env[name];
  return Object.fromEntries(Object.entries(found).map(([name, value]) => [name, value.slice(0, MAX_INPUT)]));
}

module.exports = { Peak };
