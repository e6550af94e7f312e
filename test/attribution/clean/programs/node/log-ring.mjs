// Holds the last 4,000 log entries for a crash report. Bounded: an entry is written over the oldest one; the ring is
// full at half of the run.

import { rounds } from "./pace.mjs";

class Ring {
  constructor(size) {
    this.size = size;
    this.entries = [];
    this.next = 0;
  }

  log(entry) {
    this.entries[this.next] = entry;
    this.next = (this.next + 1) % this.size;
  }
}

const ring = new Ring(4000);
for await (const number of rounds(134))
  for (let part = 0; part < 60; part += 1)
    ring.log({
      at: number,
      level: "info",
      message: `request ${number}.${part} ${"x".repeat(100 + ((37 * part) % 300))}`,
    });
console.log(ring.entries.length);
