import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { collectingEnvironment } from "../../src/gate/scenario/forced-gc.ts";
import { HostHeapIndex } from "../../src/sampler/record-layout.ts";
import { END, HEAP, probed, recordsOf, temporaryDirectory } from "./testing/probed.ts";

/**
 * Waits until two collections of both threads were recorded after what they keep was made, then ends the worker; makes
 * garbage all the while. Prints how many were recorded before.
 */
const PROGRAM = `
import { existsSync, readFileSync } from "node:fs";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
const kept = Array.from({ length: 200_000 }, (_, i) => ({ i }));
const buffer = Buffer.alloc(8 << 20);
const ring = (thread) => process.env.STORMLOG_GATE_PROBE_DIR + "/" + process.pid + "." + thread + ".probe";
const recorded = (thread) =>
  existsSync(ring(thread)) && readFileSync(ring(thread)).length > 256 ? readFileSync(ring(thread)).readUInt32LE(24) : 0;
if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url));
  const id = worker.threadId;
  const before = [recorded(0)];
  worker.once("message", () => before.push(recorded(id)));
  const waiting = setInterval(async () => {
    Array.from({ length: 50_000 }, (_, i) => ({ i }));
    if (before.length < 2 || recorded(0) < before[0] + 2 || recorded(id) < before[1] + 2) return;
    clearInterval(waiting);
    await worker.terminate();
    setImmediate(() => console.log(kept.length, buffer.length, typeof gc, ...before));
  }, 10);
} else {
  parentPort.postMessage("made");
  setInterval(() => {}, 1000);
}
`;

test("collections in Node record what each thread keeps, buffers among it, and a terminated worker's end", async () => {
  const file = path.join(temporaryDirectory(), "program.mjs");
  writeFileSync(file, PROGRAM);
  const command = { kind: "argv", argv: [process.execPath, file] } as const;
  const env = collectingEnvironment({ env: {} }, { env: {}, command, cwd: "/nowhere" }) ?? {};
  const node = { executable: process.execPath, major: 0, minor: 0 };
  const { code, stdout, stderr, left } = await probed(node, [file], { env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^200000 8388608 undefined \d+ \d+\n$/);
  const before = stdout.trim().split(" ").slice(3).map(Number);
  expect(left.map(({ name }) => name.split(".")[1])).toEqual(["0", "1"]);
  for (const [thread, { records, lost }] of left.entries()) {
    expect(lost).toBe(0);
    expect(records.every(({ deviceIndex }) => deviceIndex === HostHeapIndex.v8)).toBe(true);
    const made = records.slice(before[thread]);
    const bytes = made.flatMap(({ reason, values }) => (reason === END ? [] : [values[0] ?? 0]));
    // 200,000 objects of three words with their array, and the buffer. What was made while V8 marked may survive once.
    expect(Math.min(...bytes)).toBeGreaterThan((8 << 20) + 4e6);
    expect(Math.min(...bytes)).toBeLessThan((8 << 20) + 16e6);
  }
  const [main, worker] = left;
  expect(main && recordsOf(main, HEAP, END)).toEqual([]);
  expect(worker && recordsOf(worker, HEAP, END).map(({ values }) => values[0])).toEqual([0]);
}, 60_000);
