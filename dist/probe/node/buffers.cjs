"use strict";

// The line that made a buffer: recorded when it is made, read when the buffer is found alive.

const { Living } = require("./heap.cjs");
const { followCalls } = require("./program.cjs");
const { takeStack } = require("./stacks.cjs");

const TYPED = [
  "Int8Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "Int16Array",
  "Uint16Array",
  "Int32Array",
  "Uint32Array",
  "Float32Array",
  "Float64Array",
  "BigInt64Array",
  "BigUint64Array",
];
const BUFFER_FUNCTIONS = ["alloc", "allocUnsafe", "allocUnsafeSlow", "from", "concat", "copyBytesFrom"];
/** Buffers below this size are not worth a stack. */
const MIN_BYTES = 64;

class Buffers {
  /** `passing()` is called whenever the program makes one. */
  constructor(passing) {
    this.made = new WeakMap();
    this.living = new Living();
    this.passing = passing;
  }

  start() {
    for (const name of [...TYPED, "ArrayBuffer", "SharedArrayBuffer"]) this.followConstructor(name);
    for (const name of BUFFER_FUNCTIONS) followCalls(Buffer, name, (_, made) => this.note(made));
  }

  /** Living buffers by the stack that made them; its frames are none where that was not seen. */
  stacks() {
    const stacks = new Map();
    for (const buffer of this.living.all()) {
      if (buffer.byteLength === 0) continue;
      const frames = this.made.get(buffer) ?? [];
      const key = frames.map(({ file, line, column }) => `${file}:${line}:${column}`).join("\n");
      const stack = stacks.get(key) ?? { bytes: 0, frames, buffers: [] };
      stacks.set(key, stack);
      stack.bytes += buffer.byteLength;
      stack.buffers.push(buffer);
    }
    return [...stacks.values()];
  }

  note(made) {
    try {
      const buffer = ArrayBuffer.isView(made) ? made.buffer : made;
      if (buffer.byteLength >= MIN_BYTES && !this.made.has(buffer)) {
        this.made.set(buffer, takeStack());
        this.living.add(buffer);
      }
      this.passing();
    } catch {
      // A failure here must not reach the program.
    }
  }

  followConstructor(name) {
    const original = globalThis[name];
    if (typeof original !== "function") return;
    const followed = new Proxy(original, {
      construct: (target, values, newTarget) => {
        const made = Reflect.construct(target, values, newTarget === followed ? target : newTarget);
        this.note(made);
        return made;
      },
    });
    const descriptor = Object.getOwnPropertyDescriptor(globalThis, name);
    if (descriptor?.configurable !== true && descriptor?.writable !== true) return;
    Object.defineProperty(globalThis, name, { ...descriptor, value: followed });
    // `view.constructor === Float32Array` stays true; slices and maps come by here as well.
    Object.defineProperty(original.prototype, "constructor", { value: followed, writable: true, configurable: true });
  }
}

module.exports = { Buffers };
