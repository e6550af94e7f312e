import { describe, expect, it } from "vitest";
import { COMMENT, COMMENTS } from "./github-double.ts";
import { parseCommands, parseFileCommand } from "./mini-runner.ts";
import { GitHubContract } from "./openapi.ts";

/** The kit itself: a referee that lets everything through would make every test behind it worthless. */
const contract = GitHubContract.shared();

describe("GitHub's description as a referee", () => {
  it("refuses a request without its body, or with a wrong one", () => {
    expect(contract.requestProblem("POST", COMMENTS, { bod: "x" })).toMatch(/body/);
    expect(contract.requestProblem("PATCH", COMMENT, { body: 5 })).toMatch(/string/);
    expect(contract.requestProblem("POST", COMMENTS, { body: "x" })).toBeNull();
  });

  it("accepts its own example and refuses one with a field missing", () => {
    const { user: _user, ...broken } = contract.example("issue-comment");
    expect(contract.responseProblem("POST", COMMENTS, 201, contract.example("issue-comment"))).toBeNull();
    expect(contract.responseProblem("POST", COMMENTS, 201, broken)).toMatch(/user/);
  });

  it("refuses a status nobody described", () => {
    expect(contract.responseProblem("DELETE", COMMENT, 418, undefined)).toMatch(/418/);
  });
});

describe("the runner's formats", () => {
  it("reads plain values and blocks", () => {
    expect(parseFileCommand("a=1\nb<<END\nx=\ny\nEND\nc=\n")).toEqual({ a: "1", b: "x=\ny", c: "" });
  });

  it("refuses a block without its end", () => {
    expect(() => parseFileCommand("b<<END\nx\n")).toThrow(/no end/);
  });

  it("reads commands with properties and escapes, and nothing behind a fence", () => {
    const log =
      "::error title=a%3Ab,file=f::m%0An\n::stop-commands::T\n::error::spoofed\n::T::\n  ::endgroup::\ntext ::x::\n";
    expect(parseCommands(log)).toEqual([
      { command: "error", properties: { title: "a:b", file: "f" }, message: "m\nn" },
      { command: "endgroup", properties: {}, message: "" },
    ]);
  });

  it("does not forgive a fence that stays up", () => {
    expect(() => parseCommands("::stop-commands::T\n")).toThrow(/never resumed/);
  });
});
