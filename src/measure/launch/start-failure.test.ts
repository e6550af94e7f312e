import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findExecutable } from "../../core/process/find-executable.ts";
import { explainStartFailure } from "./start-failure.ts";

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-"));
  for (const name of ["first", "second"]) mkdirSync(path.join(directory, name));
  for (const [name, mode] of [
    ["first/tool", 0o644],
    ["second/tool", 0o755],
    ["first/plain", 0o644],
  ] as const) {
    writeFileSync(path.join(directory, name), "");
    chmodSync(path.join(directory, name), mode);
  }
});
afterAll(() => rmSync(directory, { recursive: true }));

const searchPath = (): string => `${directory}/first:${directory}/second`;

describe("findExecutable", () => {
  it("skips files that cannot be executed, as the system does", async () => {
    expect(await findExecutable("tool", "/", searchPath())).toEqual({
      kind: "found",
      path: `${directory}/second/tool`,
    });
    expect(await findExecutable("plain", "/", searchPath())).toEqual({
      kind: "not-executable",
      path: `${directory}/first/plain`,
    });
  });

  it("takes a name with a slash as a path from the working directory", async () => {
    expect(await findExecutable("./tool", `${directory}/second`, undefined)).toMatchObject({ kind: "found" });
    expect(await findExecutable("./second", directory, undefined)).toMatchObject({ kind: "directory" });
    expect(await findExecutable("./none", directory, undefined)).toEqual({ kind: "missing" });
  });

  it("looks in the working directory for an empty entry of PATH", async () => {
    expect(await findExecutable("tool", `${directory}/second`, "")).toMatchObject({ kind: "found" });
  });
});

describe("explainStartFailure", () => {
  const explain = (errno: string, name: string) => explainStartFailure(errno, name, directory, searchPath());

  it.each([
    ["ENOENT", "nowhere", "COMMAND_NOT_FOUND", "not on PATH"],
    ["ENOENT", "./nowhere", "COMMAND_NOT_FOUND", "does not exist"],
    ["EACCES", "./second", "COMMAND_IS_DIRECTORY", "is a directory"],
    ["EACCES", "plain", "COMMAND_NOT_EXECUTABLE", "is not executable"],
    ["ENOENT", "tool", "COMMAND_INTERPRETER_MISSING", "interpreter"],
    ["ENOEXEC", "tool", "COMMAND_NOT_EXECUTABLE", "no format this machine can run"],
    ["EACCES", "tool", "COMMAND_NOT_EXECUTABLE", "does not permit"],
    ["E2BIG", "tool", "COMMAND_TOO_LONG", "larger than the system allows"],
    ["EAGAIN", "tool", "COMMAND_NOT_STARTED", "EAGAIN"],
  ])("the failure %s for %s is explained as %s", async (errno, name, code, text) => {
    const { code: got, message } = await explain(errno, name);
    expect(got).toBe(code);
    expect(message).toContain(text);
  });
});
