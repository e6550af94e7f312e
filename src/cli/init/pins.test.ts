import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ownPin } from "./workflows.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "stormlog-pins-"));
  mkdirSync(path.join(root, "dist"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const released = (text: string): string => {
  writeFileSync(path.join(root, "dist", "release.json"), text);
  return ownPin(root);
};

describe("ownPin", () => {
  it("ownPin is the commit a package was released from, with its version beside it", () => {
    const commit = "0123456789abcdef0123456789abcdef01234567";
    expect(released(JSON.stringify({ version: "1.4.0", commit }))).toBe(`${commit} # v1.4.0`);
  });

  it.each([
    "",
    "null",
    "[]",
    '{"commit":"main"}',
    '{"commit":7}',
    '{"commit":"0123456789ABCDEF0123456789abcdef01234567"}',
  ])("ownPin is the moving tag when the release note is %j", (text) => {
    expect(released(text)).toMatch(/^v1 # zizmor: ignore\[unpinned-uses\]/);
  });

  it("ownPin is the moving tag in a checkout, which was never released", () => {
    expect(ownPin(root)).toMatch(/^v1 /);
  });
});
