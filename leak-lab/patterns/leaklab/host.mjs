// The loop of the Node patterns: a service that answers requests one after the other. It has no leak.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes of one answer. */
export const PAYLOAD = 128 * 1024;
/** A request lasts at least as long as one over a network would. */
const REQUEST_MS = 10;
const STEPS = { tiny: 160, small: 320, article: 390 };

/** A run of seconds ends before Node collects unused buffers, and each version collects at another time. */
const COLLECT_EVERY = 8;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** State, scale and steps of the command line; null where it is not valid. */
function readArguments() {
  const text = { type: "string" };
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { device: text, scale: text, steps: text },
    });
    const { scale = "tiny" } = values;
    const steps = Number(values.steps ?? STEPS[scale]);
    const [state, ...more] = positionals;
    const known = ["leaky", "fixed"].includes(state) && Object.hasOwn(STEPS, scale) && more.length === 0;
    return known && Number.isInteger(steps) && steps >= 1 ? { state, scale, steps } : null;
  } catch {
    return null;
  }
}

/**
 * Each state is a function that returns the handler of a request; `keeps` is what the leaky one keeps, bytes per step.
 */
export async function main({ leaky, fixed }, keeps = PAYLOAD) {
  const asked = readArguments();
  if (asked === null) {
    console.error("usage: node NAME.mjs leaky|fixed [--scale tiny|small|article] [--steps N]");
    process.exitCode = 2;
    return;
  }
  const { state, scale, steps } = asked;
  const answer = { leaky, fixed }[state]();
  const stepFile = process.env.STORMLOG_GATE_STEP_FILE;
  const begun = performance.now();
  for (let number = 1; number <= steps; number += 1) {
    answer(number);
    if (number % COLLECT_EVERY === 0) collect();
    if (stepFile !== undefined) writeFileSync(stepFile, String(number));
    await sleep(Math.max(0, begun + number * REQUEST_MS - performance.now()));
  }
  const pattern = path.basename(process.argv[1], ".mjs");
  const framework = `node ${process.versions.node}`;
  const kept = state === "leaky" ? `, keeps ${keeps / 1024} KiB with each step` : "";
  console.log(`${pattern} ${state} on host, ${scale}: ${steps} steps${kept}`);
  const facts = { pattern, state, device: "host", scale, steps, framework };
  console.log(`leak-lab: ${JSON.stringify({ ...facts, leak_bytes_per_step: keeps, accuracy: null })}`);
}
