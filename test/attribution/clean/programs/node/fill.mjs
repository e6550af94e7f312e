// Holds a cache that is filled evenly and then only read: fill.mjs MIB PERCENT KIND. Bounded: it stops growing at
// PERCENT of the rounds, when it holds MIB.

import { rounds } from "./pace.mjs";

const [mebibytes, percent] = process.argv.slice(2, 4).map(Number);
const kind = process.argv[4];
const ROUNDS = 130;
const filling = Math.floor((ROUNDS * percent) / 100);
const entryBytes = Math.floor((mebibytes * 2 ** 20) / (4 * filling));

const byKey = new Map();
const list = [];
const table = {};
const store = {
  map: (key, entry) => byKey.set(key, entry),
  array: (_key, entry) => list.push(entry),
  object: (key, entry) => {
    table[key] = entry;
  },
}[kind];

for await (const number of rounds(ROUNDS, { steps: kind === "map" })) {
  if (number >= filling) continue;
  for (let part = 0; part < 4; part += 1)
    store(`entry-${number}-${part}`, { number, load: Buffer.alloc(entryBytes, part) });
}
console.log(byKey.size + list.length + Object.keys(table).length);
