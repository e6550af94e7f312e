"use strict";

const fs = require("node:fs");
const { Buffers } = require("./buffers.cjs");
const { buffersOn, Containers, newElements } = require("./containers.cjs");
const { ProcessDocuments } = require("./documents.cjs");
const { Heap } = require("./heap.cjs");
const { report } = require("./program.cjs");
const { parseMoments, runAge, Schedule } = require("./schedule.cjs");
const { DEPTH, resolveFrame } = require("./stacks.cjs");

const SCHEMA = "stormlog.lines/1";
const MAX_LINES = 2000;
const STORES = /([A-Za-z_$][\w$]*)\s*\??\.\s*(?:push|unshift|splice|set|add)\s*\(/;

/** The attribution of one thread of one process. */
class Attribution {
  /** `light`: nothing of the program is wrapped, and only V8's samples are recorded. */
  static of(directory, at, stepFile, light) {
    const moments = parseMoments(at);
    return moments === null ? null : new Attribution(directory, moments, stepFile, light);
  }

  constructor(directory, moments, stepFile, light) {
    this.light = light;
    this.documents = new ProcessDocuments(directory);
    const passing = () => {
      if (!this.taking) this.schedule.look();
    };
    this.buffers = new Buffers(passing);
    this.containers = new Containers(passing);
    this.schedule = new Schedule(moments, stepFile, runAge(directory), (moment, step) =>
      this.take(moment, step, false),
    );
    this.taking = false;
  }

  start() {
    this.heap = new Heap();
    if (!this.light) {
      this.buffers.start();
      this.containers.start();
    }
    this.schedule.start();
    process.on("exit", () => this.finish());
  }

  /** At the end of the process, in place of the moments that were not reached. */
  finish() {
    const { schedule } = this;
    if (schedule.over || schedule.taken === 0) return;
    const moment = schedule.next;
    schedule.stop();
    this.take(moment, schedule.step, true);
  }

  take(moment, step, ended) {
    if (this.taking) return;
    this.taking = true;
    this.containers.resting = true;
    try {
      this.write(moment, step, ended);
    } catch (error) {
      report(error);
    } finally {
      this.containers.resting = false;
      this.taking = false;
    }
  }

  write(moment, step, ended) {
    const time = Number(process.hrtime.bigint());
    // First, because it collects garbage.
    const objects = this.heap.readable ? this.heap.sampled() : [];
    const retainers = this.containers.grown();
    const table = new RetainerTable();
    const buffers = this.bufferLines(retainers, table);
    const lines = [...buffers, ...this.objectLines(objects, retainers, table)];
    lines.sort((a, b) => b.bytes - a.bytes);
    const kept = lines.slice(0, MAX_LINES);
    // Not the heap's own sum, which includes what this code allocates.
    const total = lines.reduce((sum, { bytes }) => sum + bytes, 0);
    const document = {
      schema: SCHEMA,
      pid: process.pid,
      moment,
      step,
      time_ns: time,
      source: "v8-heap",
      total_bytes: total,
      lines: kept,
      others_bytes: Math.max(0, total - kept.reduce((sum, { bytes }) => sum + bytes, 0)),
      retainers: table.rows,
      facts: {},
      notes: [
        ...(ended ? ["the last snapshot was taken while the program ended, so it may be too small"] : []),
        ...(this.heap.note === null ? [] : [this.heap.note]),
      ],
      ...(ended ? { ended: true } : {}),
    };
    this.documents.write(`lines.${moment}.v8-heap`, document);
  }

  /** Buffers by the line that made them, and by what keeps them. */
  bufferLines(retainers, table) {
    const held = new Map();
    for (const retainer of retainers) {
      for (const element of newElements(retainer)) for (const buffer of buffersOn(element)) held.set(buffer, retainer);
    }
    return this.buffers.stacks().map(({ bytes, frames, buffers }) => {
      const own = new Map();
      for (const buffer of buffers) {
        const retainer = held.get(buffer);
        if (retainer !== undefined) own.set(retainer, (own.get(retainer) ?? 0) + buffer.byteLength);
      }
      const [retainer] = [...own].reduce((best, one) => (one[1] > best[1] ? one : best), [null, 0]);
      const stack = frames.map(resolveFrame);
      return { bytes, count: buffers.length, kind: "buffer", stack, ...table.enter(retainer) };
    });
  }

  /**
   * Objects by the function that made them. V8 knows no line of theirs: where a growing container is filled by a
   * function of the stack, that store is the line.
   */
  objectLines(sampled, retainers, table) {
    return sampled.map(({ bytes, count, frames }) => {
      const retainer = retainers.find(({ stack }) => {
        const [store] = stack;
        return store !== undefined && frames.some((frame) => isWithin(store, frame));
      });
      return {
        bytes,
        count,
        kind: "object",
        stack: frames.slice(0, DEPTH).map(resolveFrame),
        ...table.enter(retainer ?? null),
      };
    });
  }
}

function isWithin(store, frame) {
  return store.file === frame.file && store.function === frame.function && store.line >= frame.line;
}

/** The retainers that lines refer to by index. */
class RetainerTable {
  constructor() {
    this.rows = [];
    this.index = new Map();
  }

  enter(retainer) {
    if (retainer === null || retainer.stack.length === 0) return {};
    let index = this.index.get(retainer);
    if (index === undefined) {
      index = this.rows.length;
      this.index.set(retainer, index);
      const stack = retainer.stack.map(resolveFrame);
      this.rows.push({
        container: Array.isArray(retainer.container) ? "array" : retainer.container instanceof Map ? "map" : "set",
        name: nameAt(stack[0]),
        owner: null,
        length: retainer.size,
        stack,
      });
    }
    return { retainer: index };
  }
}

/** Name of the container, from the text of the line that fills it; null when the line does not show it. */
function nameAt({ file, line }) {
  try {
    return STORES.exec(fs.readFileSync(file, "utf8").split("\n", line)[line - 1] ?? "")?.[1] ?? null;
  } catch {
    return null;
  }
}

module.exports = { Attribution };
