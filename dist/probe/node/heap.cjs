"use strict";

// V8's own knowledge of the heap, through the inspector protocol and without a port or a debugger.

const { setFlagsFromString } = require("node:v8");
const vm = require("node:vm");
const { stopwatch } = require("./program.cjs");
const { isOurs } = require("./stacks.cjs");

// Mean bytes between two samples. V8's default of 32 KiB sees a leak of 1 KB a step once in 32 steps.
const LEAK_SAMPLING_BYTES = 4096;
/** Weak references after which what they keep is released. */
const KEPT = 32;
/** A collection of the heap that takes longer would stop the program for longer than its clients may wait. */
const MAX_PAUSE_MS = 200;
/** Milliseconds for each MiB of the heap, before the first collection was timed. */
const EXPECTED_MS_PER_MIB = 1;

let checkpoint = null;

/**
 * Let go of what weak references keep alive until the program's current job ends, so that a loop that never waits is
 * collected as without them. The end of a script in a context with a queue of its own does that, and runs none of the
 * program's microtasks.
 */
function releaseKept() {
  checkpoint ??= {
    script: new vm.Script("0"),
    context: vm.createContext({}, { microtaskMode: "afterEvaluate" }),
  };
  checkpoint.script.runInContext(checkpoint.context);
}

/** Objects of the program by weak reference; forgets those that are gone. */
class Living {
  constructor() {
    this.references = [];
    this.limit = 4096;
    this.added = 0;
  }

  add(object) {
    // Not by a method that is followed, here and in `all`: it would come here again.
    this.references[this.references.length] = new WeakRef(object);
    this.added += 1;
    if (this.added % KEPT === 0) releaseKept();
    if (this.references.length >= this.limit) {
      this.all();
      this.limit = 2 * this.references.length + 4096;
    }
  }

  /** Those that live. */
  all() {
    const found = [];
    this.references = this.references.filter((reference) => {
      const object = reference.deref();
      if (object !== undefined) found[found.length] = object;
      return object !== undefined;
    });
    releaseKept();
    return found;
  }
}

class Heap {
  /** @param samplingInterval mean bytes between two samples */
  constructor(samplingInterval = LEAK_SAMPLING_BYTES) {
    // The sampling profiler knows functions as they were compiled: it reports inlined code as the function around it.
    setFlagsFromString("--no-turbo-inlining");
    if (Number(process.versions.node.split(".")[0]) >= 22) setFlagsFromString("--no-maglev");
    const { Session } = require("node:inspector");
    this.session = new Session();
    this.session.connect();
    this.post("HeapProfiler.startSampling", { samplingInterval });
    this.msPerMib = EXPECTED_MS_PER_MIB;
    this.note = null;
  }

  /** Whether the heap can be collected and read without a long pause. */
  get readable() {
    const mib = process.memoryUsage().heapUsed / 2 ** 20;
    if (this.msPerMib * mib <= MAX_PAUSE_MS) return true;
    this.note =
      `the JavaScript heap has ${Math.round(mib)} MiB and cannot be read within ${MAX_PAUSE_MS} ms: ` +
      "its objects were left out, and buffers were counted as of the last collection";
    return false;
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

  /**
   * What lives of what was sampled, after a collection: [{bytes, count, frames}], frames innermost first, each at the
   * first line of its function.
   */
  sampled() {
    const mib = process.memoryUsage().heapUsed / 2 ** 20;
    const worked = stopwatch();
    const { profile } = this.post("HeapProfiler.getSamplingProfile");
    // A small heap takes as long as the call itself.
    if (mib > 32) this.msPerMib = Math.max(EXPECTED_MS_PER_MIB, worked() / mib);
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

module.exports = { Heap, Living };
