// Holds a buffer of 30 MiB as a local of `main`, made at 30 % of the rounds. Bounded: it is made once.

import { rounds } from "./pace.mjs";

async function main() {
  let table = null;
  let total = 0;
  for await (const number of rounds(120, { steps: true })) {
    if (number === 36) table = Buffer.alloc(30 * 2 ** 20, 1);
    if (table !== null) total += table[number];
  }
  console.log(total);
}

await main();
