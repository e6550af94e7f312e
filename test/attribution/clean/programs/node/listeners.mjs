// Holds the listeners of the requests in flight. Bounded: each request adds three listeners with 8 KiB in their
// closures, and removes them when it ends, a round later.

import { EventEmitter } from "node:events";
import { rounds } from "./pace.mjs";

const bus = new EventEmitter();
bus.setMaxListeners(60);
let heard = 0;

function request() {
  const body = Buffer.alloc(8192, 1);
  const listeners = ["data", "error", "end"].map((event) => [event, () => (heard += body[0])]);
  for (const [event, listener] of listeners) bus.on(event, listener);
  return () => {
    for (const [event, listener] of listeners) bus.off(event, listener);
  };
}

let running = [];
for await (const number of rounds(130)) {
  const ending = running;
  running = Array.from({ length: 4 + (number % 8) }, request);
  bus.emit("data");
  for (const end of ending) end();
}
console.log(heard);
