import { closeSync, existsSync, mkdtempSync, openSync, rmSync, unlinkSync, writeFileSync, writeSync } from "node:fs";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { RamFiles } from "./ram-files.ts";

const SHARED = "/dev/shm";
const MIB = 2 ** 20;

function directory(): string {
  const made = mkdtempSync(path.join(SHARED, "stormlog-left-test-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Other tests of this machine may make files as well. */
function madeIn(files: RamFiles, made: string) {
  const { left_behind: left } = files.end();
  const named = (all: typeof left) => all?.files.filter(({ name }) => name.startsWith(made));
  return { own: named(left), unknown: named(left?.unknown) ?? [] };
}

/** A reading while the tree, or another process, has a file open. */
function readWithOpen(files: RamFiles, file: string, pids: readonly number[]): void {
  const descriptor = openSync(file, "r");
  files.watch(
    () => pids,
    () => 0,
  );
  closeSync(descriptor);
}

describe.skipIf(!existsSync(SHARED))("files in RAM", () => {
  it("files in RAM that are new or larger after a command are left behind, by what they gained", () => {
    const made = directory();
    const [old = "", grown = "", added = ""] = ["file-1", "file-2", "file-3"].map((name) => path.join(made, name));
    for (const file of [old, grown]) writeFileSync(file, Buffer.alloc(MIB, 1));
    const files = new RamFiles("");
    writeFileSync(grown, Buffer.alloc(3 * MIB, 1));
    writeFileSync(added, Buffer.alloc(4 * MIB, 1));
    readWithOpen(files, added, [process.pid]);
    expect(madeIn(files, made).own).toEqual([
      { name: added, bytes: 4 * MIB },
      { name: grown, bytes: 2 * MIB },
    ]);
  });

  it("files in RAM of names that no process of the tree had open are not left behind by it", () => {
    const made = directory();
    const own = directory();
    const files = new RamFiles(own);
    writeFileSync(path.join(own, "samples.rec"), Buffer.alloc(MIB, 1));
    const [ofTree = "", another = "", other = ""] = ["psm_1a2b3c4d", "psm_5e6f7a8b", "store_12345"].map((name) =>
      path.join(made, name),
    );
    for (const file of [ofTree, another, other]) writeFileSync(file, Buffer.alloc(MIB, 1));
    readWithOpen(files, other, []);
    readWithOpen(files, ofTree, [process.pid]);
    const held = openSync(another, "r");
    expect(madeIn(files, made)).toEqual({
      own: [{ name: ofTree, bytes: MIB }],
      unknown: [{ name: other, bytes: MIB }],
    });
    closeSync(held);
    expect(madeIn(files, made).own).toHaveLength(2);
    expect(madeIn(files, own)).toEqual({ own: [], unknown: [] });
  });

  it("files in RAM that are open only between two readings are seen when they appear", async () => {
    const files = new RamFiles("");
    const file = path.join(SHARED, `${process.pid}-stormlog-left-test`);
    onTestFinished(() => rmSync(file, { force: true }));
    files.watch(
      () => [process.pid],
      () => 0,
    );
    const descriptor = openSync(file, "w");
    // A look costs 1/200 of a core at most, so that not every write is looked at.
    for (let i = 0; i < 16; i++) {
      writeSync(descriptor, Buffer.alloc(MIB / 16, 1));
      await setTimeout(30);
    }
    closeSync(descriptor);
    expect(madeIn(files, file).own).toEqual([{ name: file, bytes: MIB }]);
  });

  it("files that are deleted but open in a process of the tree count while they are", () => {
    const made = directory();
    const files = new RamFiles("");
    const file = path.join(made, "deleted");
    const descriptor = openSync(file, "w");
    writeFileSync(descriptor, Buffer.alloc(32 * MIB, 1));
    unlinkSync(file);
    files.watch(
      () => [process.pid],
      () => 5,
    );
    const { ram_files } = files.end();
    closeSync(descriptor);
    expect(ram_files?.times_ns).toEqual([5]);
    expect(ram_files?.bytes[0]).toBeGreaterThanOrEqual(32 * MIB);
  });

  it("a reading that fails is not known, and the next one counts", () => {
    const made = directory();
    const files = new RamFiles("");
    const file = path.join(made, "left");
    writeFileSync(file, Buffer.alloc(MIB, 1));
    files.watch(
      () => {
        throw new Error("no descriptor is free");
      },
      () => 0,
    );
    readWithOpen(files, file, [process.pid]);
    expect(madeIn(files, made).own).toEqual([{ name: file, bytes: MIB }]);
  });
});
