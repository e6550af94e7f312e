import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { SampleReason } from "../../src/sampler/record-layout.ts";
import { END, HEAP, type Left, probed, recordsOf, temporaryDirectory } from "./testing/probed.ts";

const MIB = 2 ** 20;
const NODE = { executable: process.execPath, major: 0, minor: 0 };

/**
 * Keeps 24 MiB of buffers in a worker and 8 MiB in the main thread, and ends the worker from outside. Both run for
 * longer than a thread whose end is not read.
 */
const PROGRAM = `
import { isMainThread, parentPort, Worker } from "node:worker_threads";
export const kept = Array.from({ length: isMainThread ? 8 : 24 }, () => Buffer.alloc(1 << 20, 1));
const old = () => new Promise((resolve) => setTimeout(resolve, Math.max(1, 1100 - performance.now())));
if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url));
  await new Promise((resolve) => worker.once("message", resolve));
  await worker.terminate();
  await old();
  console.log(typeof gc);
} else {
  setInterval(() => {}, 1000);
  await old();
  parentPort.postMessage("kept");
}
`;

/** Makes garbage until V8 has collected fully by itself, which the probe's ring shows. */
const COLLECTED = `
const { readFileSync, existsSync } = require("node:fs");
const ring = process.env.STORMLOG_GATE_PROBE_DIR + "/" + process.pid + ".0.probe";
const old = [];
let turn = 0;
function read() {
  if (!existsSync(ring)) return false;
  const bytes = readFileSync(ring);
  for (let i = 0, n = bytes.length < 256 ? 0 : bytes.readUInt32LE(24); i < n; i += 1)
    if (bytes.readUInt16LE(256 + 96 * i + 20) & 1) return true;
  return false;
}
(function work() {
  for (let i = 0; i < 20000; i += 1) old[(turn += 1) % 300000] = { turn, text: String(turn) };
  if (!read()) setTimeout(work, 1);
})();
`;

/** Replaces what a probe could need, and goes on for as long as a thread that is read at its end. */
const HOSTILE = `
for (const name of ["push", "map", "slice", "forEach"]) Array.prototype[name] = () => { throw new Error(name); };
Function.prototype.call = () => { throw new Error("call"); };
for (const name of ["setTimeout", "performance", "FinalizationRegistry", "WeakRef", "Buffer", "BigInt", "Math", "Reflect"])
  delete globalThis[name];
const fs = require("node:fs");
for (const name of ["openSync", "writeSync", "closeSync"]) fs[name] = () => { throw new Error(name); };
Array.prototype[Symbol.iterator] = () => { throw new Error("iterator"); };
const began = process.hrtime.bigint();
while (process.hrtime.bigint() - began < 1200000000n);
`;

async function run(name: string, text: string) {
  const file = path.join(temporaryDirectory(), name);
  writeFileSync(file, text);
  return probed(NODE, [file]);
}

/** Bytes that the last collection of a thread has left, MiB; null without one. */
function finalOf(left: Left | undefined): number | null {
  const [record] = left === undefined ? [] : recordsOf(left, HEAP, SampleReason.explicit);
  return record?.values[0] === undefined || record.values[0] === null ? null : record.values[0] / MIB;
}

describe("the live heap of a Node program in an ordinary run", () => {
  it("the live heap is read when a thread ends, also from outside, and nothing is printed", async () => {
    const { code, stdout, stderr, left } = await run("program.mjs", PROGRAM);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "undefined\n", stderr: "" });
    const [main, worker] = left;
    expect(finalOf(main)).toBeGreaterThan(8);
    expect(finalOf(main)).toBeLessThan(20);
    expect(finalOf(worker)).toBeGreaterThan(24);
    expect(finalOf(worker)).toBeLessThan(36);
    expect(worker && recordsOf(worker, HEAP, END).map(({ values }) => values[0])).toEqual([0]);
  }, 60_000);

  it("the live heap is read after V8's own full collections", async () => {
    const { code, stderr, left } = await run("collected.cjs", COLLECTED);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const live = left
      .flatMap((one) => recordsOf(one, HEAP, SampleReason.timer))
      .flatMap(({ values }) => values[0] ?? []);
    expect(Math.max(...live)).toBeGreaterThan(2 * MIB);
  }, 60_000);

  it("the live heap is read in a program that replaces what the probe needs, which does not notice it", async () => {
    const { code, stdout, stderr, left } = await run("hostile.cjs", HOSTILE);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(finalOf(left[0])).toBeGreaterThan(1);
  }, 60_000);
});
