import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { logLine } from "./log.ts";

const OBEYED = /^\s*::|##\[|[\r\n]/;

describe("logLine", () => {
  it("leaves an ordinary line as it is", () => {
    for (const line of ["Pull request comment created: https://x/y#z-1", "a::b ## c", ""])
      expect(logLine(line)).toBe(line);
  });

  it.each([
    "::error::x",
    "  ::set-output name=a::b",
    "a\n::error::x",
    "a\r::stop-commands::x",
    "x ##[add-mask]pass",
    "###[e]",
  ])("never makes a command for the runner of %j", (line) => expect(logLine(line)).not.toMatch(OBEYED));

  it("never makes a command for the runner of any combination", () => {
    const part = fc.constantFrom("::", ":", "##[", "#", "[", "\r", "\n", " ", "\t", "error", "\u2028", "\u0085", "\v");
    fc.assert(fc.property(fc.array(part), (parts) => !OBEYED.test(logLine(parts.join("")))));
  });
});
