import { describe, expect, it } from "vitest";
import type { OutOfMemory } from "../../telemetry/recording/out-of-memory.ts";
import { recordingInfo } from "../../telemetry/testing/recordings.ts";
import { probedEnding, runEnding, walledEnding } from "./run-ending.ts";

describe("runEnding", () => {
  it("runEnding is ok when the command exited with status 0", () => {
    expect(runEnding({ kind: "exited", code: 0 })).toEqual({ kind: "ok" });
  });

  it.each([
    [{ kind: "exited", code: 7 }, "COMMAND_FAILED", /status 7/],
    [{ kind: "signaled", signal: "SIGSEGV" }, "COMMAND_KILLED", /SIGSEGV/],
    [{ kind: "timeout", after_s: 90 }, "COMMAND_TIMEOUT", /1 min 30 s/],
    [{ kind: "not-started", code: "COMMAND_NOT_FOUND", message: "x: not found" }, "COMMAND_NOT_FOUND", /x: not found/],
    [{ kind: "running" }, "COMMAND_LOST", /not observed/],
  ] as const)("runEnding turns %o into a failure with a code", (exit, code, message) => {
    const ending = runEnding(exit);
    expect(ending).toMatchObject({ kind: "failed", code });
    expect(ending.kind === "failed" && ending.message).toMatch(message);
  });

  it.each([
    [["python3 x.py"], false, /quotes/],
    [["pythn"], false, /spelling/],
    [["python3 x.py", "--a b"], false, /spelling/],
    [["python3 x.py"], true, /spelling/],
  ])("runEnding hints at quotes only around the whole command: %j", (argv, shell, hint) => {
    const exit = { kind: "not-started", code: "COMMAND_NOT_FOUND", message: "a\nb is missing" } as const;
    expect(runEnding(exit, undefined, { argv, shell, cwd: "/" })).toMatchObject({
      message: "a b is missing",
      hint: expect.stringMatching(hint),
    });
  });

  it("runEnding does not attribute a SIGKILL to the kernel without evidence", () => {
    expect(runEnding({ kind: "signaled", signal: "SIGKILL" })).toMatchObject({
      code: "COMMAND_KILLED",
      hint: expect.stringContaining("Nothing shows that the kernel ran out of memory"),
    });
  });

  it("runEnding is out of memory where that is established, unless the command succeeded or timed out", () => {
    const oom = { certainty: "established" } as OutOfMemory;
    expect(runEnding({ kind: "signaled", signal: "SIGKILL" }, oom)).toMatchObject({
      code: "COMMAND_OUT_OF_MEMORY",
      message: "the command ran out of memory and was ended by SIGKILL",
    });
    expect(runEnding({ kind: "exited", code: 0 }, oom)).toEqual({ kind: "ok" });
    expect(runEnding({ kind: "timeout", after_s: 9 }, oom)).toMatchObject({ code: "COMMAND_TIMEOUT" });
    expect(runEnding({ kind: "exited", code: 1 }, { ...oom, certainty: "suspected" })).toMatchObject({
      code: "COMMAND_FAILED",
    });
  });

  it("runEnding is an interruption, not a failure, when the gate was stopped", () => {
    expect(runEnding({ kind: "interrupted", signal: "SIGTERM" })).toEqual({ kind: "interrupted", signal: "SIGTERM" });
  });
});

describe("a failed run behind a wall", () => {
  const failed = runEnding({ kind: "exited", code: 128 });
  const run = (isolation: string) => recordingInfo({ fingerprint: { isolation } });

  const hint = (tail: string | null, isolation: string) => {
    const ending = walledEnding(failed, run(isolation), () => tail);
    return ending.kind === "failed" && ending.hint?.includes("isolation: off") === true;
  };

  it.each([
    ["fatal: Unable to create '.git/index.lock': Read-only file system", ["user", "sudo"]],
    ["Error: EROFS: read-only file system, open '.git/x'", ["user", "sudo"]],
    ['sudo: The "no new privileges" flag is set, which prevents sudo from running as root.', ["user", "sudo", "root"]],
    ["ping: socket: Operation not permitted\nping: => missing cap_net_raw+p capability or setuid?", ["user", "sudo"]],
    ["bwrap: pivot_root: Operation not permitted", ["user", "sudo"]],
    ["x\nBad owner or permissions on /etc/ssh/ssh_config.d/20-systemd-ssh-proxy.conf", ["user"]],
    ["assertion failed", []],
    [null, []],
  ])("a failed run that prints %j is sent to the option behind the walls that cause it", (tail, kinds) => {
    expect(["user", "sudo", "root", "off"].filter((isolation) => hint(tail, isolation))).toEqual(kinds);
  });
});

describe("a run that requires the probe", () => {
  const probe = (available: boolean) =>
    recordingInfo({
      sources: [{ name: "probe", available, reason: available ? null : "python -I", capabilities: [] }],
    });

  it("a run that requires the probe fails with a reason when the probe did not attach", () => {
    expect(probedEnding({ kind: "ok" }, "require", probe(false))).toMatchObject({
      kind: "failed",
      code: "PROBE_NOT_ATTACHED",
      message: expect.stringContaining("python -I"),
    });
    expect(probedEnding({ kind: "ok" }, "require", recordingInfo())).toMatchObject({ code: "PROBE_NOT_ATTACHED" });
  });

  it("a run keeps its ending when the probe attached or is not required", () => {
    expect(probedEnding({ kind: "ok" }, "require", probe(true))).toEqual({ kind: "ok" });
    expect(probedEnding({ kind: "ok" }, "auto", probe(false))).toEqual({ kind: "ok" });
    const failed = { kind: "failed", code: "COMMAND_FAILED", message: "", hint: null } as const;
    expect(probedEnding(failed, "require", probe(false))).toBe(failed);
  });
});
