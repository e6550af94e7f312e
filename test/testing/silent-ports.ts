import type { GatePorts } from "../../src/gate/ports/ports.ts";

/** Ports of a gate that runs within a test: it prints nothing, and nothing interrupts it. */
export const silentPorts = (): GatePorts => ({
  log: () => {},
  stdout: null,
  stderr: null,
  progress: null,
  interrupt: new AbortController().signal,
  now: () => new Date(),
});
