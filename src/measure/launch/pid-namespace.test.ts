import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { inPidNamespace } from "./pid-namespace.ts";

describe("a separate pid namespace", () => {
  const directory = mkdtempSync(path.join(tmpdir(), "stormlog-"));
  afterAll(() => rmSync(directory, { recursive: true }));
  const link = (target: string): string => {
    const file = path.join(directory, target);
    symlinkSync(target, file);
    return file;
  };

  it("a separate pid namespace is any except the machine's first", () => {
    expect(inPidNamespace(link("pid:[4026531836]"))).toBe(false);
    expect(inPidNamespace(link("pid:[4026532301]"))).toBe(true);
  });

  it("a separate pid namespace is not reported where nothing can be read", () => {
    expect(inPidNamespace(link("something else"))).toBe(false);
    expect(inPidNamespace("/nowhere/pid")).toBe(false);
  });
});
