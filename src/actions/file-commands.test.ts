import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { guardFileCommands } from "./stop-commands.ts";

let directory: string;
let env: Record<string, string>;
const file = (name: string): string => path.join(directory, name);

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "files-"));
  env = { GITHUB_OUTPUT: file("output"), GITHUB_ENV: file("env"), GITHUB_PATH: file("path") };
  writeFileSync(file("output"), "ours=1\n");
  writeFileSync(file("env"), "");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe("the step's files while a command is measured", () => {
  it("command files stay as they are when the command left them unchanged", () => {
    expect(guardFileCommands(env).restore()).toBeNull();
    expect(readFileSync(file("output"), "utf8")).toBe("ours=1\n");
  });

  it("command files are restored after the command wrote to them, and the warning names them", () => {
    const kept = guardFileCommands(env);
    writeFileSync(file("output"), "ours=1\nverdict=pass\n");
    writeFileSync(file("env"), "LD_PRELOAD=/x\n");
    writeFileSync(file("path"), "/x\n");
    const changed = kept.restore();
    expect(readFileSync(file("output"), "utf8")).toBe("ours=1\n");
    expect(readFileSync(file("env"), "utf8")).toBe("");
    expect(existsSync(file("path"))).toBe(false);
    expect(changed).toContain("(GITHUB_ENV, GITHUB_OUTPUT, GITHUB_PATH)");
  });

  it("command files are replaced when the command made them read-only", () => {
    const kept = guardFileCommands(env);
    writeFileSync(file("output"), "verdict=pass\n");
    chmodSync(file("output"), 0o444);
    expect(kept.restore()).toContain("(GITHUB_OUTPUT). What it wrote was dropped");
    expect(readFileSync(file("output"), "utf8")).toBe("ours=1\n");
    expect(statSync(file("output")).mode & 0o200).toBe(0o200);
  });

  it("command files fail the step by name when what the command wrote cannot be removed", () => {
    const kept = guardFileCommands(env);
    rmSync(directory, { recursive: true });
    writeFileSync(directory, "");
    expect(() => kept.restore()).toThrow(
      expect.objectContaining({
        code: "FILE_COMMANDS_CHANGED",
        exitCode: 1,
        message: expect.stringContaining("(GITHUB_ENV, GITHUB_OUTPUT, GITHUB_PATH)"),
      }),
    );
  });

  it("command files that were too large to keep are removed when they have become a FIFO", () => {
    truncateSync(file("env"), 1e9);
    const kept = guardFileCommands(env);
    rmSync(file("env"));
    execFileSync("mkfifo", [file("env")]);
    expect(kept.restore()).toBeNull();
    expect(existsSync(file("env"))).toBe(false);
  });

  it("command files replace a link or a directory in their place and are not written through it", () => {
    writeFileSync(file("precious"), "mine");
    const kept = guardFileCommands(env);
    rmSync(file("output"));
    symlinkSync(file("precious"), file("output"));
    rmSync(file("env"));
    mkdirSync(file("env"));
    expect(kept.restore()).toContain("(GITHUB_ENV, GITHUB_OUTPUT)");
    expect(readFileSync(file("precious"), "utf8")).toBe("mine");
    expect(lstatSync(file("output")).isFile()).toBe(true);
    expect(readFileSync(file("output"), "utf8")).toBe("ours=1\n");
    expect(lstatSync(file("env")).isFile()).toBe(true);
  });

  it("command files come back when the command deleted them", () => {
    const kept = guardFileCommands(env);
    rmSync(file("output"));
    expect(kept.restore()).toContain("(GITHUB_OUTPUT)");
    expect(readFileSync(file("output"), "utf8")).toBe("ours=1\n");
  });

  it("command files are ignored where the variables are not set", () => {
    expect(guardFileCommands({}).restore()).toBeNull();
  });
});
