// Holds the jobs between a producer and a consumer. Bounded: the producer waits while 24 jobs of 16 KiB are in the
// queue, and the consumer drops a job when it is done.

import { rounds } from "./pace.mjs";

const LIMIT = 24;
const queue = [];
let done = 0;
let ended = false;

async function consume() {
  for await (const _ of rounds(Number.POSITIVE_INFINITY, { ms: 5 })) {
    for (const job of queue.splice(0, 4)) done += job.length;
    if (ended && queue.length === 0) return;
  }
}

async function produce() {
  for await (const number of rounds(130))
    for (let part = 0; part < 1 + (number % 12) && queue.length < LIMIT; part += 1)
      queue.push(Buffer.alloc(16_384, part));
  ended = true;
}

await Promise.all([consume(), produce()]);
console.log(done);
