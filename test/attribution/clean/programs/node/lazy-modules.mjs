// Holds the modules that it imports at half of the run. Bounded: a module is loaded once.

import { rounds } from "./pace.mjs";

const NAMES = ["http", "https", "zlib", "crypto", "tls", "http2", "dns", "readline", "child_process", "inspector"];
let exported = 0;
for await (const number of rounds(120, { steps: true })) {
  if (number < 60) continue;
  const module = await import(`node:${NAMES[number % NAMES.length]}`);
  exported += Object.keys(module).length;
}
console.log(exported > 0);
