import { describe, expect, it } from "vitest";
import { ignoredDirectories } from "../commands/init.ts";

const NAMES = ["bundle", "recording", "merged", "demo", "bisect", "culprit", "lab", "lab-scale"];
const ALL = NAMES.map((name) => `stormlog-${name}/\n`).join("");

describe("the lines that init adds to .gitignore", () => {
  it("init adds all lines to a new or empty .gitignore", () => {
    for (const present of [null, ""]) expect(ignoredDirectories(present)).toBe(`# Evidence of Stormlog Gate\n${ALL}`);
  });

  it("lines that init adds to .gitignore stand apart from a file with or without a last line ending", () => {
    expect(ignoredDirectories("dist\n")).toBe(`\n# Evidence of Stormlog Gate\n${ALL}`);
    expect(ignoredDirectories("dist")).toBe(`\n\n# Evidence of Stormlog Gate\n${ALL}`);
  });

  it("lines that init adds to .gitignore have the file's line ending", () => {
    const added = ignoredDirectories("dist\r\n");
    expect(added.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
  });

  it("lines that init adds to .gitignore leave out what is ignored already, in any usual form", () => {
    const others = NAMES.slice(4).map((name) => `stormlog-${name}/\n`);
    const present = `/stormlog-bundle\n**/stormlog-recording/\nstormlog-merged/*\n# stormlog-demo/\n${others.join("")}`;
    expect(ignoredDirectories(present)).toBe("\n# Evidence of Stormlog Gate\nstormlog-demo/\n");
    expect(ignoredDirectories(present + ignoredDirectories(present))).toBe("");
    expect(ignoredDirectories("stormlog-*/\r\n")).toBe("");
  });
});
