import { describe, expect, it } from "vitest";
import { helperEnvironment, runChild } from "../../src/core/process/child.ts";
import { adoptOrphans, endOrphans } from "../../src/measure/launch/process-tree.ts";

describe.skipIf(process.platform !== "linux")("the search for orphans", () => {
  it("the search for orphans leaves helper programs to those that wait for them", async () => {
    expect(adoptOrphans()).toBe(true);
    let isOver = false;
    const search = async (): Promise<void> => {
      while (!isOver) {
        await endOrphans(0);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const searching = search();
    for (let made = 0; made < 60; made += 1) {
      const { end } = await runChild("sleep", ["0.01"], { env: helperEnvironment(), timeoutMs: 20_000 });
      expect(end).toEqual({ kind: "exit", code: 0 });
    }
    isOver = true;
    await searching;
  });
});
