// Holds the sessions of the last 400 ms, 8 KiB each. Bounded: a timer deletes a session when its time is over, and four
// begin in each round of 20 ms.

import { rounds } from "./pace.mjs";

const TTL_MS = 400;
const sessions = new Map();

function begin(id) {
  sessions.set(id, { id, state: Buffer.alloc(8192, 1), visited: [`/start/${id}`] });
  setTimeout(() => sessions.delete(id), TTL_MS).unref();
}

let active = 0;
for await (const number of rounds(130)) {
  for (let part = 0; part < 4; part += 1) begin(`${number}-${part}`);
  active = Math.max(active, sessions.size);
}
console.log(active);
