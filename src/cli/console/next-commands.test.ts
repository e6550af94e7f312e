import { spawnSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { DEFAULTS } from "../../config/run-options.ts";
import { limitsFor, nextCommands } from "./next-commands.ts";

const BUNDLE = path.resolve(DEFAULTS.bundle);
const commands = (over: Partial<Parameters<typeof nextCommands>[0]>, bundle = BUNDLE) =>
  nextCommands({ text: {}, lists: {}, rest: null, ...over }, bundle);

describe("the commands a report proposes", () => {
  it("proposed commands are short where everything is in its default place", () => {
    expect(commands({})).toEqual({
      accept: "stormlog-gate baseline accept stormlog-bundle",
      refresh: "stormlog-gate baseline refresh",
      show: "stormlog-gate show stormlog-bundle",
      run: "stormlog-gate run",
    });
  });

  it("proposed commands vary again what was varied, since only that makes its scenarios", () => {
    const vary = { text: { vary: "BATCH=8,16" }, rest: ["train"] };
    const about = { scenario: "default@BATCH=8" };
    const { refresh, run, accept } = nextCommands({ lists: {}, ...vary }, BUNDLE, "stormlog-gate", about);
    expect(refresh).toBe("stormlog-gate baseline refresh --vary BATCH=8,16 -- train");
    expect(run).toBe("stormlog-gate run --vary BATCH=8,16 -- train");
    expect(accept).toContain("--scenario default@BATCH=8");
  });

  it("proposed commands name the bundle, the store, the scenario and the command of this invocation", () => {
    const given = { text: { scenario: "my train" }, lists: { baseline: ["bundle:x", "file:b"] }, rest: ["a", "-x"] };
    expect(commands(given, path.resolve("out/one"))).toEqual({
      accept: "stormlog-gate baseline accept out/one --baseline file:b",
      refresh: "stormlog-gate baseline refresh --baseline file:b --scenario 'my train' -- a -x",
      show: "stormlog-gate show out/one",
      run: "stormlog-gate run --scenario 'my train' --baseline bundle:x --baseline file:b -- a -x",
    });
  });

  it("proposed commands name one scenario where the bundle has several", () => {
    const invocation = { text: { bundle: "out/all" }, lists: {}, rest: null };
    const { accept, refresh, run } = nextCommands(invocation, path.resolve("out/all"), "gate", { scenario: "a b" });
    expect([accept, refresh, run]).toEqual([
      "gate baseline accept out/all --scenario 'a b'",
      "gate baseline refresh --scenario 'a b'",
      "gate run --bundle out/all --scenario 'a b'",
    ]);
  });

  it.each([
    ["the limit of 2 runs is reached, so 2 of 5 runs were made", "gate run --repeats 5 --max-runs 5 -- a"],
    [
      "the limit of 1.5 minutes is reached, so 2 of 5 runs were made",
      "gate run --repeats 5 --max-runs 2 --max-minutes 5 -- a",
    ],
    ["another reason", "gate run --repeats 5 --max-runs 2 -- a"],
  ])("proposed commands raise the limit that ended a judgement early: %s", (reason, expected) => {
    const next = { kind: "candidate-runs", runs: 3, baseRuns: 0 } as const;
    const judgement = { verdict: "unjudged", next, confirmed: false, checks: [], fingerprint: [], reason } as const;
    const limits = limitsFor({ runs: new Array(2), judgement });
    const invocation = { text: { repeats: "5", "max-runs": "2" }, lists: {}, rest: ["a"] };
    expect(nextCommands(invocation, BUNDLE, "gate", { limits }).run).toBe(expected);
    expect(limitsFor({ runs: new Array(2), judgement: { ...judgement, next: { kind: "done" } } })).toEqual({});
  });

  it("proposed commands mean the same when they are pasted into a shell", () => {
    const rest = ["printf", "%s|", "it's", "$(id)", "a b", "", "*", "`x`", '"'];
    const command = commands({ rest }).refresh.replace(/^.* -- /, "");
    expect(spawnSync("sh", ["-c", command], { encoding: "utf8" }).stdout).toBe("it's|$(id)|a b||*|`x`|\"|");
  });

  it("proposed commands stay on one line, and leave out a command that is a program of its own", () => {
    const rest = ["printf", "%s", "it's\n\ta\\tb"];
    const { refresh } = commands({ rest });
    expect(refresh).not.toContain("\n");
    expect(spawnSync("bash", ["-c", refresh.replace(/^.* -- /, "")], { encoding: "utf8" }).stdout).toBe(rest[2]);
    expect(commands({ rest: ["sh", "-c", "x".repeat(500)] }).refresh).toBe("stormlog-gate baseline refresh -- COMMAND");
  });
});
