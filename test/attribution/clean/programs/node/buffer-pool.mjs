// Holds free buffers of 256 KiB. Bounded: a buffer is made when none is free, at most 32 are in use at once, and demand
// reaches that number at 60 % of the steps.

import { rounds } from "./pace.mjs";

const free = [];
let made = 0;

function take() {
  const known = free.pop();
  if (known !== undefined) return known;
  made += 1;
  return Buffer.alloc(256 * 1024, 1);
}

for await (const number of rounds(130, { steps: true })) {
  const wanted = number < 78 ? 1 + Math.floor((31 * number) / 77) : 8 + (number % 24);
  const taken = Array.from({ length: wanted }, take);
  for (const buffer of taken) {
    buffer[number] = 2;
    free.push(buffer);
  }
}
console.log(made);
