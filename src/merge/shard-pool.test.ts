import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GateError } from "../core/errors.ts";
import { reader } from "./shard-pool.ts";

let directory: string;
let worker: string;
beforeAll(() => {
  directory = mkdtempSync(path.join(tmpdir(), "shard-pool-"));
  worker = path.join(directory, "worker.mjs");
  writeFileSync(
    worker,
    'import { parentPort } from "node:worker_threads"; parentPort.on("message", (task) => parentPort.postMessage(task));',
  );
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const task = (name: string) => ({ directory: name, options: { horizon: null, verify: false } });

describe("a thread that reads recordings", () => {
  it("passes each answer on until the queue is empty", async () => {
    const queue = [task("a"), task("b")];
    const taken: unknown[] = [];
    await reader(worker, queue, (answer) => taken.push(answer));
    expect([taken.length, queue.length]).toEqual([2, 0]);
  });

  it.each([
    [new GateError("BUNDLE_CORRUPT", "files differ", { kind: "invalid-input" }), "BUNDLE_CORRUPT"],
    [new TypeError("not iterable"), "MERGE_READER_LOST"],
  ])("ends with the error of a taker that throws %s", async (error, code) => {
    const ended = reader(worker, [task("a")], () => {
      throw error;
    });
    await expect(ended).rejects.toMatchObject({ code });
  });
});
