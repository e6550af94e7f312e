import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { treeBelow } from "./tree.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "tree-"));
  mkdirSync(path.join(directory, "a/b"), { recursive: true });
  for (const name of ["one", "a/two", "a/b/three"]) writeFileSync(path.join(directory, name), name);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const paths = (maxEntries?: number) =>
  treeBelow(directory, maxEntries)
    .entries.map((entry) => entry.path)
    .sort();
const unread = (maxEntries?: number) =>
  treeBelow(directory, maxEntries).unread.map(({ path: at, cause }) => `${at}: ${cause.message}`);

describe("treeBelow", () => {
  it("lists files and directories at every level", () => {
    expect(paths()).toEqual(["a", "a/b", "a/b/three", "a/two", "one"]);
    expect(unread()).toEqual([]);
  });

  it("lists links that lead upwards and what is behind them never", () => {
    const links = Array.from({ length: 12 }, (_, n) => `a/up${n}`);
    for (const link of links) symlinkSync("..", path.join(directory, link));
    expect(paths()).toEqual(["a", "a/b", "a/b/three", "a/two", "one", ...links].sort());
  });

  it("stops after the maximum number of entries and names the directory", () => {
    expect(paths(2)).toHaveLength(2);
    expect(unread(2)).toEqual([expect.stringMatching(/: more than 2 entries$/)]);
  });

  it("reports directories that are nested too deeply", () => {
    mkdirSync(path.join(directory, "a/b/", "c/".repeat(120)), { recursive: true });
    expect(paths()).toHaveLength(3 + 100);
    expect(unread()).toEqual([expect.stringMatching(/^a\/b\/c\/.*: more than 100 levels of directories$/)]);
  });

  it("reports a directory that is missing", () => {
    const { entries, unread: failed } = treeBelow(path.join(directory, "none"));
    expect(entries).toEqual([]);
    expect(failed).toMatchObject([{ path: "", cause: { code: "ENOENT" } }]);
  });

  it.skipIf(process.getuid?.() === 0)("reports a directory that cannot be read, and lists the others", () => {
    chmodSync(path.join(directory, "a/b"), 0);
    expect(paths()).toEqual(["a", "a/b", "a/two", "one"]);
    expect(unread()).toEqual([expect.stringMatching(/^a\/b: EACCES/)]);
    chmodSync(path.join(directory, "a/b"), 0o700);
  });
});
