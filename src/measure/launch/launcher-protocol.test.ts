import { describe, expect, it } from "vitest";
import { parseStatusLine, signalName } from "./launcher-protocol.ts";

describe("parseStatusLine", () => {
  it.each([
    ["init 41", { kind: "init", pid: 41 }],
    ["wall-failed proc EPERM", { kind: "wall-failed", step: "proc", errno: "EPERM" }],
    ["wall-failed /a b/c EROFS", { kind: "wall-failed", step: "/a b/c", errno: "EROFS" }],
    ["pid 42", { kind: "pid", pid: 42 }],
    ["started", { kind: "started" }],
    ["exec-failed 2 ENOENT", { kind: "exec-failed", errno: "ENOENT" }],
    ["exec-failed 200", { kind: "exec-failed", errno: "errno 200" }],
    ["exit 0", { kind: "exited", code: 0 }],
    ["exit 255", { kind: "exited", code: 255 }],
    ["signal 9 0", { kind: "signaled", signal: "SIGKILL" }],
    ["signal 11 1", { kind: "signaled", signal: "SIGSEGV" }],
    ["signal 40 0", { kind: "signaled", signal: "signal 40" }],
  ])("reads %j", (line, status) => {
    expect(parseStatusLine(line)).toEqual(status);
  });

  it.each(["", "exit", "exit x", "pid", "signal nine 0", "something else"])("leaves %j alone", (line) => {
    expect(parseStatusLine(line)).toBeNull();
  });
});

describe("signalName", () => {
  it("prefers the common name of a number", () => {
    expect([2, 6, 15].map(signalName)).toEqual(["SIGINT", "SIGABRT", "SIGTERM"]);
  });
});
