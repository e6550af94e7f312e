import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { programArgv } from "./program.ts";

describe("the words that start this program", () => {
  const top = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-"));
  afterAll(() => rmSync(top, { recursive: true, force: true }));
  const installed = path.join(top, "node_modules", "stormlog-gate", "dist");
  const npms = path.join(top, "node_modules", ".bin");
  const own = path.join(top, "own bin");
  for (const directory of [installed, npms, own]) mkdirSync(directory, { recursive: true });
  const file = path.join(installed, "cli.js");
  writeFileSync(file, "");
  for (const directory of [npms, own]) symlinkSync(file, path.join(directory, "stormlog-gate"));
  const clone = path.join(top, "own bin", "cli.js");
  writeFileSync(clone, "");

  it("programArgv is the program's name where the shell finds it on PATH", () => {
    expect(programArgv(path.join(own, "stormlog-gate"), { PATH: `/usr/bin:${own}` })).toBe("stormlog-gate");
  });

  it("programArgv is npx for an installed package, which only npm's own PATH has", () => {
    expect(programArgv(file, { PATH: `${npms}:/usr/bin` })).toBe("npx stormlog-gate");
  });

  it("programArgv is node and the quoted file elsewhere, also beside another installation", () => {
    expect(programArgv(clone, { PATH: own })).toBe(`node '${clone}'`);
    expect(programArgv(path.resolve("dist/none.js"), {})).toBe("node dist/none.js");
  });
});
