import { describe, expect, it } from "vitest";
import type { NativeStack } from "../../snapshot/growth/native-document.ts";
import { calledFile } from "./called-packages.ts";

const MIB = 2 ** 20;
const LINE = { file: "/app/train.py", line: 15 };
const MAPPINGS = [
  { start: 0x1000, end: 0x2000, offset: 0, path: "/usr/lib/python3/dist-packages/numpy/core/_umath.so" },
  { start: 0x3000, end: 0x4000, offset: 0, path: "/usr/lib/python3.11/lib-dynload/_ctypes.so" },
];
const NUMPY = 0x1800;
const CTYPES = 0x3800;

function stack(address: number, count: number, bytes: number, line = LINE.line): NativeStack {
  const python = [{ file: LINE.file, line, function: "<module>", called: null }];
  return { isPython: true, python, native: [address], count, bytes, parts: [] };
}

/** The library that the line is said to call, with nothing allocated at the first moment. */
function called(...stacks: readonly NativeStack[]): string | null {
  const moment = (live: readonly NativeStack[]) => ({ stacks: live, mappings: MAPPINGS });
  return calledFile(LINE, [[moment([]), moment(stacks)]], () => null);
}

describe("the library that a line calls", () => {
  it("allocates most of what the line keeps", () => {
    expect(called(stack(NUMPY, 60, 8 * MIB), stack(CTYPES, 20, 3 * MIB))).toBe(MAPPINGS[0]?.path);
    expect(called(stack(NUMPY, 60, 8 * MIB, 16))).toBeNull();
  });

  it("the library that a line calls is unknown with few samples", () => {
    expect(called(stack(NUMPY, 15, 8 * MIB))).toBeNull();
  });

  it("the called library stays the same where one large table was allocated through another", () => {
    expect(called(stack(NUMPY, 60, 6 * MIB), stack(CTYPES, 1, 8 * MIB))).toBe(MAPPINGS[0]?.path);
    expect(called(stack(NUMPY, 60, 6 * MIB), stack(CTYPES, 20, 8 * MIB))).toBe(MAPPINGS[1]?.path);
  });
});
