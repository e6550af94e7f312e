"use strict";

// Loaded by `--require` (through NODE_OPTIONS) into every Node program of a measured command. Its code is that of the
// oldest Node, since a failure here would end the program.

try {
  const { env, versions } = process;
  // Electron's V8 may refuse a collection, and the engines of Bun and Deno are others.
  if (env.STORMLOG_GATE_PROBE_DIR && !versions.electron && !versions.bun && !versions.deno)
    require("./live-heap.cjs").start(env.STORMLOG_GATE_PROBE_DIR, env.STORMLOG_GATE_COLLECT === "1");
} catch (_) {
  // An older Node: its heap stays unknown.
}
