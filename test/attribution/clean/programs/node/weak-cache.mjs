// Holds the last six images of 1 MiB, and weak references to all that V8 has not collected. Bounded: V8 collects when 64
// MiB are outside its heap, about twelve times in the run, and a reference without its image is deleted from the cache.

import { rounds } from "./pace.mjs";

const cache = new Map();
const recent = [];

function image(number) {
  const made = { number, pixels: new Uint8Array(2 ** 20).fill(number) };
  cache.set(number, new WeakRef(made));
  recent.push(made);
  if (recent.length > 6) recent.shift();
}

for await (const number of rounds(130)) {
  for (let part = 0; part < 6; part += 1) image(6 * number + part);
  for (const [key, reference] of cache) if (reference.deref() === undefined) cache.delete(key);
}
console.log(recent.length);
