import { expect, it } from "vitest";
import type { NativeStack } from "../../snapshot/growth/native-document.ts";
import { ownedBy } from "./native-owner.ts";

const MAPPINGS = [
  { start: 0x1000, end: 0x2000, offset: 0, path: "/lib/libc.so.6" },
  { start: 0x5000, end: 0x6000, offset: 0, path: "/app/serve" },
  { start: 0x7000, end: 0x8000, offset: 0, path: "/usr/lib/libjpeg.so" },
];
const stack = (native: readonly number[]): NativeStack => ({
  bytes: 1,
  count: 1,
  parts: [],
  native,
  python: [],
  isPython: false,
});
/** Offset of the program's place that the stack is counted at; its first function is an allocator. */
const offsetOf = (native: readonly number[]) =>
  ownedBy(
    stack(native),
    MAPPINGS,
    ({ file }) => file.startsWith("/app/"),
    ({ offset }) => offset < 0x100,
  )?.place?.offset;

it("memory is counted at the program's innermost function that does more than allocate for its caller", () => {
  expect(offsetOf([0x1011, 0x5011, 0x5021, 0x5201, 0x5301])).toBe(0x200);
  expect(offsetOf([0x1011, 0x7011, 0x5021, 0x5301])).toBe(0x300);
});

it("memory is counted at the program's innermost function where all of them are allocators", () => {
  expect(offsetOf([0x1011, 0x5011, 0x5021])).toBe(0x10);
});
