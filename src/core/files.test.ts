import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readJson, writeAtomically, writeAtomicallySync } from "./files.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-files-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe("writing a file atomically", () => {
  it("replaces the file and leaves nothing else", async () => {
    const file = path.join(directory, "a.json");
    await writeAtomically(file, "one");
    writeAtomicallySync(file, "two");
    expect([readdirSync(directory), readFileSync(file, "utf8")]).toEqual([["a.json"], "two"]);
  });

  it("leaves no partial file when the rename fails", async () => {
    // A directory cannot be replaced by a file.
    await expect(writeAtomically(directory, "x")).rejects.toMatchObject({ code: expect.stringMatching(/^E/) });
    expect(() => writeAtomicallySync(directory, "x")).toThrow();
    expect(
      readdirSync(path.dirname(directory)).filter((name) => name.startsWith(`${path.basename(directory)}.`)),
    ).toEqual([]);
  });
});

describe("reading a JSON file", () => {
  it("names the problem to the caller, who makes the error", () => {
    const file = path.join(directory, "a.json");
    const kind = (maxBytes?: number): unknown => {
      try {
        return readJson(file, (problem) => new Error(problem.kind), maxBytes);
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(kind()).toBe("absent");
    for (const [text, expected] of [
      ["", "empty"],
      ['{"a":', "truncated"],
      ['{"a":1}', { a: 1 }],
    ] as const) {
      writeFileSync(file, text);
      expect(kind()).toEqual(expected);
    }
    expect(kind(3)).toBe("too-large");
    expect(() => readJson(directory, ({ kind }) => new Error(kind))).toThrow("unreadable");
  });
});
