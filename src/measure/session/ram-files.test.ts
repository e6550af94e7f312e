import { closeSync, existsSync, mkdtempSync, openSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
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
const madeIn = (files: RamFiles, made: string) =>
  files.end().left_behind?.files.filter(({ name }) => name.startsWith(made));

describe.skipIf(!existsSync(SHARED))("files in RAM", () => {
  it("files in RAM that are new or larger after a command are left behind, by what they gained", () => {
    const made = directory();
    const [old = "", grown = "", added = ""] = ["old", "grown", "new file"].map((name) => path.join(made, name));
    for (const file of [old, grown]) writeFileSync(file, Buffer.alloc(MIB, 1));
    const files = new RamFiles("");
    writeFileSync(grown, Buffer.alloc(3 * MIB, 1));
    writeFileSync(added, Buffer.alloc(4 * MIB, 1));
    expect(madeIn(files, made)).toEqual([
      { name: added, bytes: 4 * MIB },
      { name: grown, bytes: 2 * MIB },
    ]);
  });

  it("files that another process held when they were new are not left behind, nor those of the run's own directory", () => {
    const made = directory();
    const own = directory();
    const files = new RamFiles(own);
    writeFileSync(path.join(own, "samples.rec"), Buffer.alloc(MIB, 1));
    const [other = "", closed = "", held = ""] = ["other", "closed", "held"].map((name) => path.join(made, name));
    const make = (file: string): number => {
      writeFileSync(file, Buffer.alloc(MIB, 1));
      return openSync(file, "r");
    };
    const ofOther = make(other);
    files.watch(
      () => [],
      () => 0,
    );
    closeSync(ofOther);
    const [ofTree, ofDaemon] = [make(closed), make(held)];
    files.watch(
      () => [process.pid],
      () => 1,
    );
    closeSync(ofTree);
    expect(madeIn(files, made)).toEqual([{ name: closed, bytes: MIB }]);
    expect(madeIn(files, own)).toEqual([]);
    closeSync(ofDaemon);
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
    expect(madeIn(files, made)).toEqual([{ name: file, bytes: MIB }]);
  });
});
