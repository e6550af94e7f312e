import { describe, expect, it } from "vitest";
import { pythonStack, stackAround, tracebackText } from "./stack.ts";

const PYTHON = `epoch 1
Traceback (most recent call last):
  File "/p/train.py", line 6, in <module>
    grow()
  File "/p/train.py", line 4, in grow
    kept.append(bytearray(4 << 20))
                ^^^^^^^^^^^^^^^^^^
MemoryError`;

describe("stackAround", () => {
  it("reads the Python traceback above the error, innermost call first", () => {
    expect(stackAround(PYTHON, 7)).toEqual([
      { file: "/p/train.py", line: 4, function: "grow", code: "kept.append(bytearray(4 << 20))" },
      { file: "/p/train.py", line: 6, function: "<module>", code: "grow()" },
    ]);
    expect(tracebackText(PYTHON, 7)).toBe(`${PYTHON.split("\n").slice(1).join("\n")}\n`);
  });

  it("reads it after a launcher's prefix", () => {
    const prefixed = PYTHON.replaceAll(/^/gm, "[rank2]: ");
    expect(stackAround(prefixed, 7).map(({ line }) => line)).toEqual([4, 6]);
  });

  it("reads the last of chained tracebacks", () => {
    const chained = `${PYTHON}\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File "b.py", line 9, in f\nMemoryError`;
    expect(stackAround(chained, chained.split("\n").length - 1)).toEqual([
      { file: "b.py", line: 9, function: "f", code: "" },
    ]);
  });

  it("ignores the traceback of an earlier error", () => {
    const text = `${PYTHON}\ntrying again\nCUDA out of memory. Tried to allocate 2.00 GiB`;
    expect(stackAround(text, 9)).toEqual([]);
  });

  it("reads the frames that V8, HotSpot and Go print below the error", () => {
    const v8 =
      "RangeError: Array buffer allocation failed\n    at new ArrayBuffer (<anonymous>)\n    at fill (/p/a.js:3:14)\n    at /p/a.js:9:1";
    expect(stackAround(v8, 0).map(({ file, line, function: name }) => [file, line, name])).toEqual([
      ["/p/a.js", 3, "fill"],
      ["/p/a.js", 9, ""],
    ]);
    const java = "java.lang.OutOfMemoryError: Java heap space\n\tat M.fill(M.java:1)\n\tat M.main(M.java:2)";
    expect(stackAround(java, 0)[0]).toMatchObject({ file: "M.java", line: 1, function: "M.fill" });
    const go =
      "fatal error: out of memory\n\ngoroutine 1 [running]:\nruntime.throw({0x4, 0x2})\n\t/usr/local/go/src/runtime/panic.go:1229 +0x48\nmain.main()\n\t/p/main.go:3 +0x1d";
    expect(stackAround(go, 0).at(-1)).toMatchObject({ file: "/p/main.go", line: 3, function: "main.main" });
  });

  it("reads a traceback in the format of Python's traceback module", () => {
    expect(pythonStack(PYTHON.split("\n").slice(1)).map(({ function: name }) => name)).toEqual(["grow", "<module>"]);
    expect(pythonStack([])).toEqual([]);
  });
});
