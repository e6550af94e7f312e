import { spawnSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { DEFAULTS } from "../config/options.ts";
import { nextCommands } from "./next-commands.ts";

const BUNDLE = path.resolve(DEFAULTS.bundle);
const commands = (over: Partial<Parameters<typeof nextCommands>[0]>, bundle = BUNDLE) =>
  nextCommands({ text: {}, lists: {}, rest: null, ...over }, bundle);

describe("the commands a report proposes", () => {
  it("are short where everything is in its default place", () => {
    expect(commands({})).toEqual({
      accept: "stormlog-gate baseline accept stormlog-bundle",
      refresh: "stormlog-gate baseline refresh",
      show: "stormlog-gate show stormlog-bundle",
      run: "stormlog-gate run",
    });
  });

  it("name the bundle, the store, the scenario and the command of this invocation", () => {
    const given = { text: { scenario: "my train" }, lists: { baseline: ["bundle:x", "file:b"] }, rest: ["a", "-x"] };
    expect(commands(given, path.resolve("out/one"))).toEqual({
      accept: "stormlog-gate baseline accept out/one --baseline file:b",
      refresh: "stormlog-gate baseline refresh --baseline file:b --scenario 'my train' -- a -x",
      show: "stormlog-gate show out/one",
      run: "stormlog-gate run --scenario 'my train' --baseline bundle:x --baseline file:b -- a -x",
    });
  });

  it("mean the same when they are pasted into a shell", () => {
    const rest = ["printf", "%s|", "it's", "$(id)", "a b", "", "*", "`x`", '"'];
    const command = commands({ rest }).refresh.replace(/^.* -- /, "");
    expect(spawnSync("sh", ["-c", command], { encoding: "utf8" }).stdout).toBe("it's|$(id)|a b||*|`x`|\"|");
  });

  it("stay on one line, and leave out a command that is a program of its own", () => {
    const rest = ["printf", "%s", "it's\n\ta\\tb"];
    const { refresh } = commands({ rest });
    expect(refresh).not.toContain("\n");
    expect(spawnSync("bash", ["-c", refresh.replace(/^.* -- /, "")], { encoding: "utf8" }).stdout).toBe(rest[2]);
    expect(commands({ rest: ["sh", "-c", "x".repeat(500)] }).refresh).toBe("stormlog-gate baseline refresh -- COMMAND");
  });
});
