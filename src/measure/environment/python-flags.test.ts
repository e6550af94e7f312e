import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { isolatingFlag, pythonUse } from "./python-flags.ts";

describe("the Python flag that excludes the probe", () => {
  it.each([
    [["python3", "-I", "train.py"], "-I"],
    [["/usr/bin/python3.11", "-u", "-sE", "train.py"], "-E"],
    [["python", "-X", "dev", "-S", "-m", "train"], "-S"],
    [["python", "-uBS", "-c", "pass"], "-S"],
    [["python", "train.py", "-I"], null],
    [["python", "-c", "-I"], null],
    [["python", "-mIPython"], null],
    [["python", "-W", "Ignore", "train.py"], null],
    [["python", "-WIgnore", "train.py"], null],
    [["python", "-"], null],
    [["python", "--", "-I"], null],
    [["node", "-I"], null],
    [[], null],
  ])("the flag of %j that excludes the probe is %s", (argv, flag) => {
    expect(isolatingFlag(argv)).toBe(flag);
  });
});

describe("pythonUse", () => {
  it.each([
    [["python3", "-I", "a.py"], { kind: "isolated", flag: "-I" }],
    [["env", "X=1", "python3", "-E", "a.py"], { kind: "isolated", flag: "-E" }],
    [["python3", "a.py"], { kind: "python" }],
    [["node", "a.js"], { kind: "none" }],
    [["sh", "-c", "cd /x && python3 -S train.py | tee log"], { kind: "isolated", flag: "-S" }],
    [["sh", "-c", "python3 -I a.py; python3 b.py"], { kind: "python" }],
    [["sh", "-c", "make test"], { kind: "none" }],
  ])("pythonUse reads how %j starts Python", (argv, use) => {
    expect(pythonUse(argv, null)).toEqual(use);
  });

  it("pythonUse reads the first line of a script", () => {
    const directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-"));
    try {
      const script = path.join(directory, "train");
      writeFileSync(script, "#!/usr/bin/env -S python3 -I\nprint(1)\n");
      chmodSync(script, 0o755);
      expect(pythonUse([script], script)).toEqual({ kind: "isolated", flag: "-I" });
      writeFileSync(script, "#!/bin/sh\necho python3 -I\n");
      expect(pythonUse([script], script)).toEqual({ kind: "none" });
      expect(pythonUse([script], path.join(directory, "absent"))).toEqual({ kind: "none" });
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
