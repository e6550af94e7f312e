import { execFileSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { disableCompileCache, guardFileCommands, writtenWarning } from "./file-commands.ts";

let directory: string;
let env: Record<string, string>;
const file = (name: string): string => path.join(directory, name);

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "files-"));
  env = { GITHUB_OUTPUT: file("output"), GITHUB_ENV: file("env"), GITHUB_PATH: file("path") };
  writeFileSync(file("output"), "ours=1\n");
  writeFileSync(file("env"), "");
});
afterEach(() => rmSync(directory, { recursive: true }));

describe("the step's files while a command is measured", () => {
  it("are left alone when they are unchanged", () => {
    expect(guardFileCommands(env).restore()).toEqual([]);
    expect(readFileSync(file("output"), "utf8")).toBe("ours=1\n");
  });

  it("are again what they were, and named", () => {
    const kept = guardFileCommands(env);
    writeFileSync(file("output"), "ours=1\nverdict=pass\n");
    writeFileSync(file("env"), "LD_PRELOAD=/x\n");
    writeFileSync(file("path"), "/x\n");
    const changed = kept.restore();
    expect(changed).toEqual(["GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH"]);
    expect(readFileSync(file("output"), "utf8")).toBe("ours=1\n");
    expect(readFileSync(file("env"), "utf8")).toBe("");
    expect(existsSync(file("path"))).toBe(false);
    expect(writtenWarning(changed)).toContain("GITHUB_ENV, GITHUB_OUTPUT, GITHUB_PATH");
  });

  it("are removed when they were not kept and have become a FIFO", () => {
    truncateSync(file("env"), 1e9);
    const kept = guardFileCommands(env);
    rmSync(file("env"));
    execFileSync("mkfifo", [file("env")]);
    expect(kept.restore()).toEqual([]);
    expect(existsSync(file("env"))).toBe(false);
  });

  it("are not written through a link or a directory put in their place", () => {
    writeFileSync(file("precious"), "mine");
    const kept = guardFileCommands(env);
    rmSync(file("output"));
    symlinkSync(file("precious"), file("output"));
    rmSync(file("env"));
    mkdirSync(file("env"));
    expect(kept.restore()).toEqual(["GITHUB_ENV", "GITHUB_OUTPUT"]);
    expect(readFileSync(file("precious"), "utf8")).toBe("mine");
    expect(lstatSync(file("output")).isFile()).toBe(true);
    expect(readFileSync(file("output"), "utf8")).toBe("ours=1\n");
    expect(lstatSync(file("env")).isFile()).toBe(true);
  });

  it("come back when they were deleted", () => {
    const kept = guardFileCommands(env);
    rmSync(file("output"));
    expect(kept.restore()).toEqual(["GITHUB_OUTPUT"]);
    expect(readFileSync(file("output"), "utf8")).toBe("ours=1\n");
  });

  it("keep the compile cache off in later steps, whatever the command writes", () => {
    disableCompileCache(env);
    const kept = guardFileCommands(env);
    writeFileSync(file("env"), "");
    expect(kept.restore()).toEqual(["GITHUB_ENV"]);
    expect(readFileSync(file("env"), "utf8")).toBe("NODE_DISABLE_COMPILE_CACHE=1\nSTORMLOG_GATE_CACHE_DISABLED=1\n");
    disableCompileCache({ ...env, NODE_DISABLE_COMPILE_CACHE: "1" });
    expect(readFileSync(file("env"), "utf8")).toMatch(/DISABLED=1\nNODE_DISABLE_COMPILE_CACHE=1\n$/);
  });

  it("are ignored where the variables are not set", () => {
    disableCompileCache({});
    expect(guardFileCommands({}).restore()).toEqual([]);
    expect(writtenWarning([])).toBeNull();
  });
});
