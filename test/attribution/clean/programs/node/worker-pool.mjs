// Holds three worker threads with a table of 2 MiB each. Bounded: a worker starts when there is work for it, at most
// three, the last at 40 % of the run.

import { Worker } from "node:worker_threads";
import { rounds } from "./pace.mjs";

const SOURCE = `
const { parentPort } = require("node:worker_threads");
const table = new Uint8Array(2 * 2 ** 20).fill(1);
parentPort.on("message", (number) => parentPort.postMessage(table[number]));
`;

const workers = [];
const ask = (worker, number) =>
  new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.postMessage(number);
  });

let total = 0;
for await (const number of rounds(110)) {
  if (workers.length < 3 && number >= 22 * workers.length) workers.push(new Worker(SOURCE, { eval: true }));
  for (const answer of await Promise.all(workers.map((worker) => ask(worker, number)))) total += answer;
}
await Promise.all(workers.map((worker) => worker.terminate()));
console.log(total);
