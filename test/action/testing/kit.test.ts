import { describe, expect, it } from "vitest";
import { COMMENT, COMMENTS } from "./github-double.ts";
import { parseCommands, parseFileCommand } from "./mini-runner.ts";
import { GitHubContract } from "./openapi.ts";

/** The test kit: every other test is worthless if the contract accepts everything. */
const contract = GitHubContract.shared();

describe("the contract of GitHub's API", () => {
  it("the contract refuses a request with a missing or wrong body", () => {
    expect(contract.requestProblem("POST", COMMENTS, { bod: "x" })).toMatch(/body/);
    expect(contract.requestProblem("PATCH", COMMENT, { body: 5 })).toMatch(/string/);
    expect(contract.requestProblem("POST", COMMENTS, { body: "x" })).toBeNull();
  });

  it("the contract accepts GitHub's example and refuses it with a field missing", () => {
    const { user: _user, ...broken } = contract.example("issue-comment");
    expect(contract.responseProblem("POST", COMMENTS, 201, contract.example("issue-comment"))).toBeNull();
    expect(contract.responseProblem("POST", COMMENTS, 201, broken)).toMatch(/user/);
  });

  it("the contract refuses an undescribed status", () => {
    expect(contract.responseProblem("DELETE", COMMENT, 418, undefined)).toMatch(/418/);
  });
});

describe("the runner's formats", () => {
  it("the runner's parser reads plain values and blocks", () => {
    expect(parseFileCommand("a=1\nb<<END\nx=\ny\nEND\nc=\n")).toEqual({ a: "1", b: "x=\ny", c: "" });
  });

  it("the runner's parser refuses a block without its end", () => {
    expect(() => parseFileCommand("b<<END\nx\n")).toThrow(/no end/);
  });

  it("leaves out the value that a limit on the size of files cut, wherever it did", () => {
    const text = "bundle<<END\na.tgz\nEND\nverdict<<END\nfail\nEND\n";
    for (let size = 0; size <= text.length; size += 1) {
      for (const [name, value] of Object.entries(parseFileCommand(text.slice(0, size), true))) {
        expect(value).toBe({ bundle: "a.tgz", verdict: "fail" }[name]);
      }
    }
  });

  it("the runner's parser reads commands with properties and escapes, and none behind a fence", () => {
    const log =
      "::error title=a%3Ab,file=f::m%0An\n::stop-commands::T\n::error::spoofed\n::T::\n  ::endgroup::\ntext ::x::\n";
    expect(parseCommands(log)).toEqual([
      { command: "error", properties: { title: "a:b", file: "f" }, message: "m\nn" },
      { command: "endgroup", properties: {}, message: "" },
    ]);
  });

  it("the runner's parser refuses a log whose stop-commands fence stays open", () => {
    expect(() => parseCommands("::stop-commands::T\n")).toThrow(/never resumed/);
  });
});
