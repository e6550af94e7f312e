// Holds the last 200 pages of 8 KiB in a Map. Bounded: an insertion above the limit deletes the oldest key; it is full
// at a sixth of the run and turns over from then on.

import { rounds } from "./pace.mjs";

const LIMIT = 200;
const pages = new Map();

function remember(key, page) {
  pages.delete(key);
  pages.set(key, page);
  if (pages.size > LIMIT) pages.delete(pages.keys().next().value);
}

for await (const number of rounds(130))
  for (let part = 0; part < 10; part += 1)
    remember(`page-${10 * number + part}`, { body: Buffer.alloc(8192, part), links: [`${number}`, `${part}`] });
console.log(pages.size);
