"use strict";

// Attribution in Node programs: loaded by `--require` (through NODE_OPTIONS) in a run that was started to find a
// growing line, or what a peak consists of, and in no other. Writes down, at given moments, what lives and which lines
// hold it (`<pid>.<n>.lines.<k>.v8-heap.json`), or what lived at the peak (`<pid>.<n>.native.<k>.json`).
//
// What is measured:
// - Buffers (ArrayBuffers and their views) exactly: each is followed by a weak reference, with the line that made it.
//   They are outside of V8's heap, where V8's profilers see only their small wrappers. The heap is not walked for them:
//   that takes seconds in a large one, and a service's clients do not wait so long.
// - Objects by V8's sampling heap profiler, which keeps only live ones. It costs little, and reports functions, not
//   lines. V8's exact allocation tracker reports no lines either, and its timer keeps the process alive for ever.
// - Containers (arrays, maps, sets) that grow from moment to moment, and the lines that put something into them: they
//   retain the memory.
//
// Never throws into the program, prints nothing, and keeps no process alive.

const { isPackageManager, report } = require("./program.cjs");

function start() {
  const { env } = process;
  const directory = env.STORMLOG_GATE_PROBE_DIR;
  const at = env.STORMLOG_GATE_ATTRIBUTE_AT;
  const depth = env.STORMLOG_GATE_ATTRIBUTE;
  if ((depth !== "on" && depth !== "light" && depth !== "peak") || !directory || !at) return;
  if (isPackageManager()) return;
  if (depth === "peak") {
    require("./peak.cjs").Peak.of(directory, at)?.start();
    return;
  }
  const { Attribution } = require("./attribution.cjs");
  const attribution = Attribution.of(directory, at, env.STORMLOG_GATE_STEP_FILE ?? null, depth === "light");
  attribution?.start();
}

try {
  start();
} catch (error) {
  report(error);
}
