import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { allPids, childrenOf, environmentHolds, parseStat, readStat } from "./proc.ts";

const STAT_TAIL = "S 41 42 42 0 -1 4194304 100 0 0 0 1 2 30 4 20 0 1 0 987654 1000000 200";

describe("parseStat", () => {
  it("reads state, parent, threads, start time and the time of children behind a name with blanks and brackets", () => {
    const stat = { state: "S", parent: 41, session: 42, threads: 1, startTicks: 987654, childrenTicks: 34 };
    expect(parseStat(`42 (a) b (c) ${STAT_TAIL}`)).toEqual(stat);
  });

  it.each(["", "42", "42 (x)", "42 (x) S", "nonsense without brackets"])("answers null for %j", (text) => {
    expect(parseStat(text)).toBeNull();
  });
});

describe.skipIf(process.platform !== "linux")("the processes of this machine", () => {
  it("a child process is found with its parent and its environment", async () => {
    const child = spawn("sleep", ["60"], { env: { ...process.env, X: "AMARK=1", AMARK: "12" } });
    try {
      await once(child, "spawn");
      const pid = child.pid!;
      expect(allPids()).toContain(pid);
      expect(readStat(pid)?.parent).toBe(process.pid);
      const children = childrenOf(process.pid);
      if (children !== null) expect(children).toContain(pid);
      expect(environmentHolds(pid, "AMARK=12")).toBe("yes");
      // Neither the beginning of a value nor the text within another variable counts.
      expect(environmentHolds(pid, "AMARK=1")).toBe("no");
    } finally {
      child.kill("SIGKILL");
    }
  });

  it("a process that does not exist has no stat, no children and an empty environment", () => {
    const gone = 2 ** 22 + 1;
    expect([readStat(gone), childrenOf(gone), environmentHolds(gone, "A=1")]).toEqual([null, null, "empty"]);
  });
});
