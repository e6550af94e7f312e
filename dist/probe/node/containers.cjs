"use strict";

// Arrays, maps and sets that grow from moment to moment, and the lines that put something into them.

const { Living } = require("./heap.cjs");
const { followCalls } = require("./program.cjs");
const { takeStack } = require("./stacks.cjs");

/** Shorter containers are ignored. */
const MIN_LENGTH = 8;
const MAX_RETAINERS = 32;
/** New elements looked into, objects per element, and levels below an element. */
const ELEMENTS = 12;
const OBJECTS = 200;
const LEVELS = 4;
/** The program's own work calls `passing` every so many stores. */
const PASSING = 256;

const sizeOf = (container) => (Array.isArray(container) ? container.length : container.size);

class Containers {
  constructor(passing) {
    this.passing = passing;
    this.stores = new WeakMap();
    this.living = new Living();
    this.lengths = new WeakMap();
    this.moments = 0;
    this.calls = 0;
    /** While the probe itself fills arrays and maps. */
    this.resting = false;
  }

  start() {
    const stored = (container) => this.stored(container);
    for (const name of ["push", "unshift", "splice"]) followCalls(Array.prototype, name, stored);
    followCalls(Map.prototype, "set", stored);
    followCalls(Set.prototype, "add", stored);
  }

  /**
   * Note the line when a container reaches 8, 16, 32, … elements: often enough to know who fills it, and nearly free.
   */
  stored(container) {
    if (this.resting) return;
    try {
      const size = sizeOf(container);
      if (size >= MIN_LENGTH && (size & (size - 1)) === 0) {
        if (!this.stores.has(container)) this.living.add(container);
        this.stores.set(container, takeStack());
      }
      this.calls += 1;
      if (this.calls % PASSING === 0) this.passing();
    } catch {
      // A failure here must not reach the program.
    }
  }

  /** Of all living containers those that grew since the moment before, the most steadily growing first. */
  grown() {
    const found = [];
    for (const container of this.living.all()) {
      const size = sizeOf(container);
      if (size < MIN_LENGTH) continue;
      const known = this.lengths.get(container);
      const streak = known !== undefined && size > known.size ? known.streak + 1 : 0;
      if (streak > 0) found.push({ container, size, grown: size - known.size, streak });
      this.lengths.set(container, { size, streak });
    }
    this.moments += 1;
    found.sort((a, b) => b.streak - a.streak || b.grown - a.grown);
    return found.slice(0, MAX_RETAINERS).map((row) => ({ ...row, stack: this.stores.get(row.container) ?? [] }));
  }
}

/** A few of the elements that a container gained since the moment before. */
function newElements({ container, grown }) {
  const wanted = Math.min(ELEMENTS, grown);
  if (Array.isArray(container)) return [...container.slice(-wanted), ...container.slice(0, 2)];
  // Maps and sets keep the order of insertion.
  let skip = Math.max(0, container.size - wanted);
  const elements = [];
  for (const element of container instanceof Map ? container.entries() : container) {
    if (skip > 0) skip -= 1;
    else elements.push(element);
  }
  return elements;
}

/** Every ArrayBuffer that hangs on an element. Getters are not run. */
function buffersOn(element) {
  const found = [];
  const seen = new Set();
  let level = [element];
  for (let depth = 0; depth < LEVELS && level.length > 0; depth += 1) {
    const below = [];
    for (const one of level) {
      if ((typeof one !== "object" && typeof one !== "function") || one === null || seen.has(one)) continue;
      if (seen.size >= OBJECTS) return found;
      seen.add(one);
      if (ArrayBuffer.isView(one)) found.push(one.buffer);
      else if (one instanceof ArrayBuffer || one instanceof SharedArrayBuffer) found.push(one);
      else if (one instanceof Map) for (const [key, value] of one) below.push(key, value);
      else if (one instanceof Set) below.push(...one);
      else if (typeof one === "object") below.push(...valuesOf(one));
    }
    level = below;
  }
  return found;
}

function valuesOf(object) {
  const values = [];
  for (const key of Reflect.ownKeys(object).slice(0, OBJECTS)) {
    const descriptor = Reflect.getOwnPropertyDescriptor(object, key);
    if (descriptor !== undefined && "value" in descriptor) values.push(descriptor.value);
  }
  return values;
}

module.exports = { buffersOn, Containers, newElements };
