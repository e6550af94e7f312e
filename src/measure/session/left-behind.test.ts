import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { filesInRam, leftBehind } from "./left-behind.ts";

const SHARED = "/dev/shm";
const MIB = 2 ** 20;

function directory(): string {
  const made = mkdtempSync(path.join(SHARED, "stormlog-left-test-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

describe.skipIf(!filesInRam("").has(SHARED))("files in RAM that outlive a command", () => {
  /** Other tests of this machine may leave files as well. */
  const left = (own: string, before: ReturnType<typeof filesInRam>, made: string) =>
    leftBehind(before, own)?.files.filter(({ name }) => name.startsWith(made));

  it("are those that are new or larger, by what they gained", () => {
    const made = directory();
    const [old, grown, added] = ["old", "grown", "new file"].map((name) => path.join(made, name));
    for (const file of [old, grown]) writeFileSync(file ?? "", Buffer.alloc(MIB, 1));
    const before = filesInRam("");
    writeFileSync(grown ?? "", Buffer.alloc(3 * MIB, 1));
    writeFileSync(added ?? "", Buffer.alloc(4 * MIB, 1));
    expect(left("", before, made)).toEqual([
      { name: added, bytes: 4 * MIB },
      { name: grown, bytes: 2 * MIB },
    ]);
  });

  it("are none that a process holds, and none of the run's own directory", () => {
    const made = directory();
    const own = directory();
    const before = filesInRam(own);
    writeFileSync(path.join(own, "samples.rec"), Buffer.alloc(MIB, 1));
    const file = path.join(made, "held");
    writeFileSync(file, Buffer.alloc(MIB, 1));
    const descriptor = openSync(file, "r");
    expect(left(own, before, made)).toEqual([]);
    expect(left(own, before, own)).toEqual([]);
    closeSync(descriptor);
    expect(left(own, before, made)).toEqual([{ name: file, bytes: MIB }]);
  });
});
