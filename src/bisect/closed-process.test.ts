import { describe, expect, it } from "vitest";
import { closeSearch, readableVariables } from "./tool-environment.ts";

describe("variables that searched code can read", () => {
  const environments: Readonly<Record<number, string>> = { 1: "A_TOKEN=a", 20: "B_TOKEN=b\0PATH=/bin" };
  const files = {
    environ: (pid: number) => {
      const text = environments[pid];
      if (text === undefined) throw new Error("EACCES");
      return text;
    },
    parent: (pid: number) => ({ 30: 20, 20: 1 })[pid] ?? 0,
  };

  it("readableVariables lists variables of every process above this one whose environment can be read", () => {
    expect(readableVariables(["A_TOKEN", "B_TOKEN", "C_TOKEN"], 30, files)).toEqual(["A_TOKEN", "B_TOKEN"]);
  });

  it("closeSearch returns all variables for root's processes and where nothing closes a process", () => {
    expect(closeSearch(["STORMLOG_TEST_TOKEN"], "darwin")).toEqual(["STORMLOG_TEST_TOKEN"]);
    expect(closeSearch(["STORMLOG_TEST_TOKEN"])).toEqual(process.getuid?.() === 0 ? ["STORMLOG_TEST_TOKEN"] : []);
  });
});
