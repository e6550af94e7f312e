import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { makeDirectories } from "./files.ts";

function directory(): string {
  const made = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

it("makes a directory with its parents, and accepts an existing one", () => {
  const deep = path.join(directory(), "a", "b", "c");
  makeDirectories(deep);
  makeDirectories(deep);
  expect(existsSync(deep)).toBe(true);
});

it("reports why a directory cannot be made, not that it is missing", () => {
  const file = path.join(directory(), "file");
  writeFileSync(file, "");
  expect(() => makeDirectories(path.join(file, "a"))).toThrow(/ENOTDIR/);
  // A file system that holds no files but the kernel's: as unwritable for root as a read-only disk.
  if (process.platform === "linux")
    expect(() => makeDirectories("/proc/stormlog-gate/a/b")).toThrow(/mkdir '\/proc\/stormlog-gate'/);
});
