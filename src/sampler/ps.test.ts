import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { allProcesses, descendantsOf, parsePs } from "./ps.ts";

describe("ps", () => {
  it("parsePs reads line by line, gives sizes in bytes, and skips lines of another form", () => {
    expect(parsePs("    1     0   100\n  PID  PPID   RSS\n 20 1 4\n-1 2 3\n")).toEqual([
      { pid: 1, parent: 0, rssBytes: 102400 },
      { pid: 20, parent: 1, rssBytes: 4096 },
    ]);
  });

  it("gives descendants for any order of the rows", () => {
    const row = (pid: number, parent: number) => ({ pid, parent, rssBytes: 1 });
    const rows = [row(7, 6), row(6, 5), row(5, 1), row(9, 1)];
    expect(descendantsOf(rows, 5, false).map(({ pid }) => pid)).toEqual([7, 6]);
    expect(descendantsOf(rows, 5, true).map(({ pid }) => pid)).toEqual([7, 6, 5]);
  });

  it("lists a real child of this process", async () => {
    const child = spawn("sleep", ["60"]);
    try {
      await once(child, "spawn");
      const found = descendantsOf(await allProcesses(), process.pid, false).find(({ pid }) => pid === child.pid);
      expect(found?.rssBytes).toBeGreaterThan(0);
    } finally {
      child.kill("SIGKILL");
    }
  });
});
