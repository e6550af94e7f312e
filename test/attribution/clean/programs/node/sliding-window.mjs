// Holds the last 40 blocks of a signal, 64 KiB each. Bounded: a block enters and the oldest leaves; full at 30 % of
// the steps.

import { rounds } from "./pace.mjs";

const window = [];
let mean = 0;
for await (const number of rounds(134, { steps: true })) {
  window.push(new Float32Array(16_384).fill(number));
  if (window.length > 40) window.shift();
  mean = window.reduce((sum, block) => sum + block[0], 0) / window.length;
}
console.log(mean > 0);
