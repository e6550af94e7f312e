"use strict";

// A ring file of one thread, as the Python probe writes it (docs/probe.md), with write calls in place of a mapping.
// The header's count is stored after its record, in a call of its own, and each record carries its number at both ends:
// a reader that meets half of either reads again.

const fs = require("node:fs");
const path = require("node:path");

const HEADER_BYTES = 256;
const RECORD_BYTES = 96;
const CAPACITY = 4096;
const HEAD_AT = 24;
const FLAGS_AT = 40;
const MAGIC = "SLGPRB\x01\n";
const FLAG_HEAP = 1;
const [ATTACHED, ENDED] = [1, 2];

/** The host's heaps, and V8's among them. */
const [HEAP, V8] = [1, 2];
const ALLOCATED = 1;
const END = 4;

/** Threads of one process have names of their own. One that replaced itself (`exec`) has left its names behind. */
const IMAGES = 10;
const THREADS = 1000000;

const nameOf = (directory, thread, image) =>
  path.join(directory, `${process.pid}.${(thread % THREADS) + image * THREADS}.probe`);

class Ring {
  /** A new ring of this thread. Throws when it cannot be had. */
  static create(directory, thread) {
    for (let image = 0; image < IMAGES; image += 1) {
      const file = nameOf(directory, thread, image);
      let handle;
      try {
        handle = fs.openSync(file, "wx", 0o600);
      } catch (error) {
        if (error.code === "EEXIST") continue;
        throw error;
      }
      try {
        fs.ftruncateSync(handle, HEADER_BYTES + CAPACITY * RECORD_BYTES);
        const header = Buffer.alloc(HEADER_BYTES);
        header.writeUInt32LE(HEADER_BYTES, 8);
        header.writeUInt32LE(RECORD_BYTES, 12);
        header.writeUInt32LE(CAPACITY, 16);
        header.writeInt32LE(process.pid, 20);
        header.writeBigUInt64LE(process.hrtime.bigint(), 32);
        header.writeUInt32LE(FLAG_HEAP, FLAGS_AT);
        header.writeUInt32LE(ATTACHED, FLAGS_AT + 4);
        for (const at of [48, 52, 56]) header.writeInt32LE(-1, at);
        header.writeBigInt64LE(BigInt(process.ppid), 64);
        fs.writeSync(handle, header, 0, HEADER_BYTES, 0);
        // Last: a reader takes the file for a ring from now on.
        fs.writeSync(handle, MAGIC, 0, "latin1");
      } finally {
        fs.closeSync(handle);
      }
      return new Ring(file, 0n);
    }
    throw new Error(`no free name for a ring of process ${process.pid}`);
  }

  constructor(file, head) {
    this.file = file;
    this.head = head;
  }

  /** Write bytes of the heap, for `reason`. */
  put(bytes, reason) {
    const slot = Number(this.head % BigInt(CAPACITY));
    const sequence = this.head + 1n;
    const record = Buffer.alloc(RECORD_BYTES);
    record.writeBigUInt64LE(sequence, 0);
    record.writeBigUInt64LE(process.hrtime.bigint(), 8);
    record.writeUInt16LE(HEAP, 16);
    record.writeUInt16LE(V8, 18);
    record.writeUInt16LE(ALLOCATED, 20);
    record.writeUInt16LE(reason, 22);
    record.writeBigUInt64LE(BigInt(bytes), 24);
    record.writeBigUInt64LE(sequence, RECORD_BYTES - 8);
    this.open((handle) => {
      fs.writeSync(handle, record, 0, RECORD_BYTES, HEADER_BYTES + slot * RECORD_BYTES);
      const head = Buffer.alloc(8);
      head.writeBigUInt64LE(sequence, 0);
      fs.writeSync(handle, head, 0, 8, HEAD_AT);
    });
    this.head = sequence;
  }

  /** The thread has ended, and its heap is gone. */
  end() {
    this.put(0, END);
    this.open((handle) => {
      const state = Buffer.alloc(4);
      state.writeUInt32LE(ENDED, 0);
      fs.writeSync(handle, state, 0, 4, FLAGS_AT + 4);
    });
  }

  /** Never kept open: a program may close all descriptors, and the number would then be a file of its own. */
  open(write) {
    const handle = fs.openSync(this.file, "r+");
    try {
      write(handle);
    } finally {
      fs.closeSync(handle);
    }
  }
}

/** Write the end of another thread of this process into the ring that it left, if it left one. */
function endOf(directory, thread) {
  for (let image = IMAGES - 1; image >= 0; image -= 1) {
    const file = nameOf(directory, thread, image);
    if (!fs.existsSync(file)) continue;
    const head = Buffer.alloc(8);
    const handle = fs.openSync(file, "r");
    try {
      fs.readSync(handle, head, 0, 8, HEAD_AT);
    } finally {
      fs.closeSync(handle);
    }
    new Ring(file, head.readBigUInt64LE(0)).end();
    return;
  }
}

module.exports = { endOf, Ring };
