// A service that keeps rendered answers: `--after` for every user, else for the newest hundred.

import { setTimeout as sleep } from "node:timers/promises";

const USERS = 30_000;
const KEPT = 100;
const BATCH = 2_000;

// A cached answer is a list of fields, as a template needs it.
function rendered(user) {
  return Array.from({ length: 60 }, (_, field) => ({ name: `field ${field}`, value: user * field })); // higher
}

const kept = process.argv.includes("--after") ? USERS / 5 : KEPT;
const cache = new Map();
for (let user = 0; user < USERS; user += 1) {
  cache.set(user, rendered(user));
  if (cache.size > kept) cache.delete(user - kept);
  if (user % BATCH === 0) await sleep(20);
}
await sleep(200);
console.log(cache.size);
