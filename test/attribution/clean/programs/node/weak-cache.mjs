// Holds the last 30 images of 128 KiB, and weak references to all. Bounded: a reference whose image was collected is
// deleted from the cache when it is met, a few in every round.

import { rounds } from "./pace.mjs";

const cache = new Map();
const recent = [];

function image(number) {
  const made = { number, pixels: new Uint8Array(131_072).fill(number) };
  cache.set(number, new WeakRef(made));
  recent.push(made);
  if (recent.length > 30) recent.shift();
}

for await (const number of rounds(130)) {
  image(number);
  for (const [key, reference] of cache) if (reference.deref() === undefined) cache.delete(key);
}
console.log(recent.length);
