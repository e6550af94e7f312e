import { describe, expect, it } from "vitest";
import { asGateError } from "./gate-error.ts";

describe("asGateError", () => {
  it.each([
    ["EMFILE", "TOO_MANY_OPEN_FILES"],
    ["ENOSPC", "DISK_FULL"],
    ["EFBIG", "WRITE_FAILED"],
    ["ENOENT", "INTERNAL"],
  ])("an error of the system is reported by what ended the step: %s", (code, reported) => {
    const error = Object.assign(new Error(`${code}: open 'dist/chunks/x.js'`), { code });
    expect(asGateError(error)).toMatchObject({ code: reported, exitCode: 1 });
  });
});
