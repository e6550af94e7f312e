"use strict";
// Makes CALLS calls of the program beside it, evenly over SECONDS: node pace.cjs CALLS SECONDS
// With `rss` in the place of SECONDS: without pauses, and prints resident memory after a tenth and at the end.

const { setTimeout: pause } = require("node:timers/promises");
const { call, start } = require("./program.cjs");

const calls = Number(process.argv[2]);

async function paced(seconds) {
  const began = performance.now();
  let done = 0;
  while (done < calls) {
    const due = Math.min(calls, Math.floor(((performance.now() - began) / 1000 / seconds) * calls));
    for (; done < due; done += 1) await call();
    await pause(10);
  }
}

async function resident() {
  let before = 0;
  for (let done = 0; done < calls; done += 1) {
    if (done === Math.ceil(calls / 10)) before = process.memoryUsage.rss();
    await call();
  }
  console.log(JSON.stringify({ before, after: process.memoryUsage.rss() }));
}

start()
  .then(() => (process.argv[3] === "rss" ? resident() : paced(Number(process.argv[3]))))
  .then(() => process.exit(0));
