// The workload of `stormlog-gate demo`: a small training loop in plain Node, in the three states of the walkthrough.
//
//   node workload.mjs clean | leaky | fixed
//
// Each step runs one forward pass of a two-layer network over a batch and looks at the hidden activations, as debugging
// code does. What differs between the states is only what `observe` keeps:
//   clean   nothing
//   leaky   a copy of every step's activations: loss still falls, memory only rises
//   fixed   a bounded history of scalar summaries
//
// Change LEAK_BYTES_PER_STEP and run the demo again: the reported growth follows.

import { writeFileSync } from "node:fs";

const LEAK_BYTES_PER_STEP = 512 * 1024;
const STEPS = 110;
const PAUSE_MS = 20;
const SUMMARIES_KEPT = 24;

const BATCH = 64;
const INPUTS = 32;
const HIDDEN = 64;

/** A small deterministic generator (mulberry32), so that every run does exactly the same work. */
function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const random = randomNumbers(42);
const inputs = Float32Array.from({ length: BATCH * INPUTS }, () => random() - 0.5);
const targets = Float32Array.from({ length: BATCH }, (_, row) => (inputs[row * INPUTS] > 0 ? 1 : 0));
const hiddenWeights = Float32Array.from({ length: INPUTS * HIDDEN }, () => (random() - 0.5) / 4);
const outputWeights = Float32Array.from({ length: HIDDEN }, () => (random() - 0.5) / 4);
const hidden = new Float32Array(BATCH * HIDDEN);

/** One forward pass and an update of the output layer; returns the loss. */
function trainStep() {
  let loss = 0;
  for (let row = 0; row < BATCH; row += 1) {
    let logit = 0;
    for (let unit = 0; unit < HIDDEN; unit += 1) {
      let sum = 0;
      for (let i = 0; i < INPUTS; i += 1) sum += inputs[row * INPUTS + i] * hiddenWeights[i * HIDDEN + unit];
      const activation = Math.max(0, sum);
      hidden[row * HIDDEN + unit] = activation;
      logit += activation * outputWeights[unit];
    }
    const probability = 1 / (1 + Math.exp(-logit));
    const error = probability - targets[row];
    loss -= Math.log(Math.max(1e-9, targets[row] === 1 ? probability : 1 - probability));
    for (let unit = 0; unit < HIDDEN; unit += 1) outputWeights[unit] -= 0.05 * error * hidden[row * HIDDEN + unit];
  }
  return loss / BATCH;
}

const retained = [];
const observers = {
  clean() {},
  leaky() {
    // The copy looks safe: it is detached from the loop. But it is never released.
    const copy = Buffer.alloc(LEAK_BYTES_PER_STEP);
    for (let offset = 0; offset < copy.length; offset += 4096)
      copy.writeFloatLE(hidden[offset % hidden.length], offset);
    retained.push(copy);
  },
  fixed() {
    let sum = 0;
    for (const value of hidden) sum += value;
    retained.push(sum / hidden.length);
    if (retained.length > SUMMARIES_KEPT) retained.shift();
  },
};

const state = process.argv[2] ?? "clean";
const observe = observers[state];
if (observe === undefined) {
  console.error(`unknown state "${state}": use clean, leaky or fixed`);
  process.exit(2);
}

// Under the gate: with its step reported, growth is per step, however long a step takes.
const stepFile = process.env.STORMLOG_GATE_STEP_FILE;
let loss = 0;
for (let step = 1; step <= STEPS; step += 1) {
  loss = trainStep();
  observe();
  if (stepFile !== undefined) writeFileSync(stepFile, String(step));
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}
console.log(`${state}: ${STEPS} steps, loss ${loss.toFixed(4)}`);
