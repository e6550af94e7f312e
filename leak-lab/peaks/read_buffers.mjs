// A reader with buffers of its own: `--after` reads in pieces of 4 MiB instead of 1 MiB, eight at a time.

import { setTimeout as sleep } from "node:timers/promises";

const MIB = 2 ** 20;
const ROUNDS = 24;

function reader(bytes) {
  return { buffer: Buffer.alloc(bytes, 1), used: 0 }; // higher
}

const bytes = (process.argv.includes("--after") ? 4 : 1) * MIB;
let readers = [];
for (let round = 0; round < ROUNDS; round += 1) {
  readers = Array.from({ length: 8 }, () => reader(bytes));
  await sleep(20);
}
console.log(readers.length);
