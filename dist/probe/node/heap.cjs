"use strict";

// V8's own knowledge of the heap, through the inspector protocol and without a port or a debugger.

const { setFlagsFromString } = require("node:v8");
const { isAnyArrayBuffer, isMap, isSet } = require("node:util/types");
const { isOurs } = require("./stacks.cjs");

// Mean bytes between two samples. V8's default of 32 KiB sees a leak of 1 KB a step once in 32 steps.
const SAMPLING_BYTES = 4096;
/** Up to this size of the heap one question for all objects is cheaper than several, each of which collects garbage. */
const SMALL_HEAP = 96 * 1024 * 1024;
const HANDLE = Symbol.for("stormlog-gate.attribution");

class Heap {
  constructor() {
    // The sampling profiler knows functions as they were compiled: it reports inlined code as the function around it.
    setFlagsFromString("--no-turbo-inlining");
    if (Number(process.versions.node.split(".")[0]) >= 22) setFlagsFromString("--no-maglev");
    const { Session } = require("node:inspector");
    this.session = new Session();
    this.session.connect();
    this.post("HeapProfiler.startSampling", { samplingInterval: SAMPLING_BYTES });
  }

  /** A command's answer. Commands of a session of the same thread are answered before `post` returns. */
  post(method, params) {
    let answer;
    this.session.post(method, params, (error, result) => {
      if (error !== null && error !== undefined) throw new Error(`${method}: ${error.message}`);
      answer = result;
    });
    return answer;
  }

  /** Every living buffer and container: {buffers, containers}. Collects garbage first. */
  livingParts() {
    const buffers = [];
    const containers = [];
    const small = process.memoryUsage().heapUsed <= SMALL_HEAP;
    const prototypes = small ? [Object.prototype] : [ArrayBuffer, Array, Map, Set].map(({ prototype }) => prototype);
    for (const prototype of prototypes) {
      for (const one of this.living(prototype)) {
        // By its own type, not by its prototype: prototypes themselves are found too.
        if (Array.isArray(one) || isMap(one) || isSet(one)) containers.push(one);
        else if (isAnyArrayBuffer(one)) buffers.push(one);
      }
    }
    return { buffers, containers };
  }

  /** Every living object with `prototype` among its own prototypes. Collects garbage first. */
  living(prototype) {
    let found = [];
    globalThis[HANDLE] = { prototype, take: (objects) => (found = objects) };
    const group = "stormlog-gate";
    try {
      const key = 'globalThis[Symbol.for("stormlog-gate.attribution")]';
      const { result } = this.post("Runtime.evaluate", { expression: `${key}.prototype`, objectGroup: group });
      const { objects } = this.post("Runtime.queryObjects", { prototypeObjectId: result.objectId, objectGroup: group });
      this.post("Runtime.callFunctionOn", {
        objectId: objects.objectId,
        functionDeclaration: `function () { ${key}.take(this); }`,
        objectGroup: group,
      });
    } finally {
      delete globalThis[HANDLE];
      this.post("Runtime.releaseObjectGroup", { objectGroup: group });
    }
    return found;
  }

  /**
   * What lives of what was sampled: [{bytes, count, frames}], frames innermost first, each at the first line of its
   * function.
   */
  sampled() {
    const { profile } = this.post("HeapProfiler.getSamplingProfile");
    const counts = new Map();
    for (const { nodeId } of profile.samples ?? []) counts.set(nodeId, (counts.get(nodeId) ?? 0) + 1);
    const rows = [];
    const waiting = [[profile.head, null]];
    while (waiting.length > 0) {
      const [node, caller] = waiting.pop();
      const { url, lineNumber, columnNumber, functionName } = node.callFrame;
      // Frames without a script are the engine's: (root), (GC), natives.
      const frame =
        url === "" ? null : { file: url, line: lineNumber + 1, column: columnNumber + 1, function: functionName };
      const chain = frame === null ? caller : { frame, caller };
      if (node.selfSize > 0) {
        const frames = [];
        for (let at = chain; at !== null; at = at.caller) frames.push(at.frame);
        if (!frames.some(({ file }) => isOurs(file))) {
          rows.push({ bytes: Math.round(node.selfSize), count: counts.get(node.id) ?? 1, frames });
        }
      }
      for (const child of node.children) waiting.push([child, chain]);
    }
    return rows;
  }
}

module.exports = { Heap };
