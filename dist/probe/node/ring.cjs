"use strict";

// A ring file of one thread, as the Python probe writes it (docs/probe.md), with write calls in place of a mapping.
// The header's count is stored after its record, in a call of its own, and each record carries its number at both ends:
// a reader that meets half of either reads again.
//
// Made and written with functions that were taken before the program began, and with typed arrays, whose elements no
// program can redirect.

const fs = require("node:fs");
const path = require("node:path");

const { closeSync, existsSync, ftruncateSync, openSync, readSync, writeSync } = fs;
const { sep } = path;
const { pid, ppid } = process;
const { bigint: clock } = process.hrtime;
const toBigInt = BigInt;
const toNumber = Number;

const HEADER_BYTES = 256;
const RECORD_BYTES = 96;
const CAPACITY = 4096;
const CAPACITY_N = 4096n;
const HEAD_AT = 24;
const FLAGS_AT = 40;
const MAGIC = new Uint8Array([83, 76, 71, 80, 82, 66, 1, 10]);
const FLAG_HEAP = 1;
const [ATTACHED, ENDED] = [1, 2];

/** The host's heaps, and V8's among them. */
const [HEAP, V8] = [1, 2];
/** Which values of a record are known. */
const [ALLOCATED, RESERVED] = [1, 2];
/** Why a record was written: a reading while the thread works, its end, and the last collection before that. */
const [LIVE, END, FINAL] = [1, 4, 5];

/** Threads of one process have names of their own. One that replaced itself (`exec`) has left its names behind. */
const IMAGES = 10;
const THREADS = 1000000;

const nameOf = (directory, thread, image) => `${directory}${sep}${pid}.${(thread % THREADS) + image * THREADS}.probe`;

/** Never kept open: a program may close all descriptors, and the number would then be a file of its own. */
function opened(file, flags, use) {
  const handle = openSync(file, flags, 0o600);
  try {
    return use(handle);
  } finally {
    closeSync(handle);
  }
}

function header() {
  const bytes = new Uint8Array(HEADER_BYTES);
  const u32 = new Uint32Array(bytes.buffer);
  const u64 = new BigUint64Array(bytes.buffer);
  u32[2] = HEADER_BYTES;
  u32[3] = RECORD_BYTES;
  u32[4] = CAPACITY;
  u32[5] = pid;
  u64[4] = clock();
  u32[FLAGS_AT / 4] = FLAG_HEAP;
  u32[FLAGS_AT / 4 + 1] = ATTACHED;
  // Rank, local rank and world size: unknown.
  u32[12] = u32[13] = u32[14] = 0xffffffff;
  u64[8] = toBigInt(ppid);
  return bytes;
}

class Ring {
  /** The ring of a thread, made with its first record. */
  constructor(directory, thread, file = null, head = 0n) {
    this.directory = directory;
    this.thread = thread;
    this.file = file;
    this.head = head;
    this.bytes = new Uint8Array(RECORD_BYTES);
    this.u16 = new Uint16Array(this.bytes.buffer);
    this.u64 = new BigUint64Array(this.bytes.buffer);
    this.count = new BigUint64Array(1);
  }

  /** Throws when it cannot be had. */
  create() {
    for (let image = 0; image < IMAGES; image += 1) {
      const file = nameOf(this.directory, this.thread, image);
      try {
        opened(file, "wx", (handle) => {
          ftruncateSync(handle, HEADER_BYTES + CAPACITY * RECORD_BYTES);
          writeSync(handle, header(), 0, HEADER_BYTES, 0);
          // Last: a reader takes the file for a ring from now on.
          writeSync(handle, MAGIC, 0, MAGIC.length, 0);
        });
      } catch (error) {
        if (error.code === "EEXIST") continue;
        throw error;
      }
      this.file = file;
      return;
    }
    throw new Error(`no free name for a ring of process ${pid}`);
  }

  /** Write what the heap keeps (null: not known) and what it takes of the host, in bytes, for `reason`. */
  put(live, taken, reason) {
    if (this.file === null) this.create();
    const slot = toNumber(this.head % CAPACITY_N);
    const sequence = this.head + 1n;
    const { u16, u64 } = this;
    u64[0] = sequence;
    u64[1] = clock();
    u16[8] = HEAP;
    u16[9] = V8;
    u16[10] = live === null ? RESERVED : ALLOCATED + RESERVED;
    u16[11] = reason;
    u64[3] = toBigInt(live ?? 0);
    u64[4] = toBigInt(taken);
    u64[11] = sequence;
    this.count[0] = sequence;
    opened(this.file, "r+", (handle) => {
      writeSync(handle, this.bytes, 0, RECORD_BYTES, HEADER_BYTES + slot * RECORD_BYTES);
      writeSync(handle, this.count, 0, 8, HEAD_AT);
    });
    this.head = sequence;
  }

  /** The thread has ended, and its heap is gone. */
  end() {
    this.put(0, 0, END);
    const state = new Uint32Array([ENDED]);
    opened(this.file, "r+", (handle) => writeSync(handle, state, 0, 4, FLAGS_AT + 4));
  }
}

/** Write the end of another thread of this process into the ring that it left, if it left one. */
function endOf(directory, thread) {
  for (let image = IMAGES - 1; image >= 0; image -= 1) {
    const file = nameOf(directory, thread, image);
    if (!existsSync(file)) continue;
    const head = new BigUint64Array(1);
    opened(file, "r", (handle) => readSync(handle, head, 0, 8, HEAD_AT));
    new Ring(directory, thread, file, head[0]).end();
    return;
  }
}

module.exports = { END, endOf, FINAL, LIVE, Ring };
