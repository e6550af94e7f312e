// Listeners that are added and never removed, in a Node service.
//
// Each request listens for the service to close, and its listener holds the request's buffer. The warning about
// too many listeners is disabled.
//
// Keeps with every step: the buffer of one request (128 KiB).
import { EventEmitter } from "node:events";
import { main, PAYLOAD } from "./leaklab/host.mjs";

const service = new EventEmitter();
service.setMaxListeners(0);

function leaky() {
  return (number) => {
    // leak begins
    const buffer = Buffer.alloc(PAYLOAD, 1);
    service.on("close", () => buffer.fill(0));
    buffer[number % PAYLOAD] = 2;
    // leak ends
  };
}

function fixed() {
  return (number) => {
    const buffer = Buffer.alloc(PAYLOAD, 1);
    const clear = () => buffer.fill(0);
    service.on("close", clear);
    try {
      buffer[number % PAYLOAD] = 2;
    } finally {
      service.off("close", clear);
    }
  };
}

await main({ leaky, fixed });
