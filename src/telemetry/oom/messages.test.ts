import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { costRatio, MAX_LINEAR_RATIO } from "../../core/testing/cost-ratio.ts";
import { findMessages } from "./messages.ts";
import { sizesIn } from "./sizes.ts";

const GIB = 1024 ** 3;
const MIB = 1024 ** 2;
const one = (text: string) => findMessages(text)[0];

describe("the reports of runtimes, as they print them", () => {
  it.each([
    [
      "torch",
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.15 GiB total capacity; 77.20 GiB already allocated; 1.12 GiB free; 77.50 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb",
    ],
    [
      "torch",
      "RuntimeError: MPS backend out of memory (MPS allocated: 1.20 GB, other allocations: 300.00 MB, max allowed: 2.13 GB). Tried to allocate 64.00 MB on private pool.",
    ],
    [
      "torch",
      "[rank3]: torch.OutOfMemoryError: HIP out of memory. Tried to allocate 20.00 MiB. GPU 3 has a total capacity of 63.98 GiB of which 12.00 MiB is free.",
    ],
    [
      "torch",
      "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 16777216 bytes. Error code 12 (Cannot allocate memory)",
    ],
    [
      "torch",
      "RuntimeError: [enforce fail at alloc_cpu.cpp:117] data. DefaultCPUAllocator: not enough memory: you tried to allocate 8000000000 bytes.",
    ],
    [
      "numpy",
      "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.11 PiB for an array with shape (1000000000, 1000000) and data type float64",
    ],
    [
      "tensorflow",
      "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape[4096,4096] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
    ],
    [
      "xla",
      "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.",
    ],
    ["node", "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"],
    ["node", "RangeError: Array buffer allocation failed"],
    ["java", 'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space'],
    ["c++", "terminate called after throwing an instance of 'std::bad_alloc'"],
    ["c++", "libc++abi: terminating due to uncaught exception of type std::bad_alloc: std::bad_alloc"],
    ["go", "runtime: out of memory: cannot allocate 67108864-byte block (272400384 in use)"],
    ["rust", "memory allocation of 16777216 bytes failed"],
    [
      "php",
      "PHP Fatal error:  Allowed memory size of 134217728 bytes exhausted (tried to allocate 20480 bytes) in x.php on line 3",
    ],
    ["r", "Error: cannot allocate vector of size 7.5 Gb"],
    ["c", "cc1plus: out of memory allocating 65536 bytes after a total of 1000 bytes"],
    ["c", "bash: xrealloc: cannot allocate 16777344 bytes"],
    [
      "kernel",
      "slurmstepd: error: Detected 1 oom_kill event in StepId=123.0. Some of the step tasks have been OOM Killed.",
    ],
  ])("a report of %s is recognised: %s", (runtime, line) => {
    expect(one(`step 1\n${line}\n`)).toMatchObject({ runtime, wording: "report", line: 1 });
  });

  it("classifies an exception's line as a report only below its stack", () => {
    const stack =
      'Traceback (most recent call last):\n  File "a.py", line 2, in <module>\n    x()\n    ^^^\nMemoryError';
    expect(one(stack)).toMatchObject({ runtime: "python", wording: "report", exception: "MemoryError" });
    expect(one("MemoryError: I give up")).toMatchObject({ wording: "words" });
    expect(one(stack.replaceAll(/^/gm, "[rank1]: "))).toMatchObject({ wording: "report" });
    expect(one(`${stack.slice(0, -11)}OSError: [Errno 12] Cannot allocate memory`)).toMatchObject({
      wording: "report",
      exception: "OSError",
    });
  });
});

describe("messages that any program may print", () => {
  it.each([
    "CUDA out of memory",
    "RuntimeError: CUDA error: out of memory",
    "malloc: Cannot allocate memory",
    "sh: 1: Cannot fork: Cannot allocate memory",
    "Out of memory!",
  ])("the message '%s' is classified as words", (line) => {
    expect(one(line)).toMatchObject({ wording: "words" });
  });

  it.each([
    "Set max_split_size_mb to avoid CUDA out of memory errors.",
    "test_cuda_out_of_memory PASSED",
    "we never run out of memory here",
    "memory: 12.5 GiB allocated, 3 GiB free",
    "see the chapter on MemoryError in the manual",
    "RESOURCE_EXHAUSTED: quota of 100 requests per minute",
    "java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory or process/resource limits reached",
    "Killed",
    "room for everything, also for zooming",
  ])("the line '%s' is ignored", (line) => {
    expect(findMessages(line)).toEqual([]);
  });
});

describe("sizes in a report", () => {
  it("sizesIn reads PyTorch's older and newer wording", () => {
    expect(
      sizesIn(
        "Tried to allocate 2.00 GiB (GPU 0; 79.15 GiB total capacity; 77.20 GiB already allocated; 1.12 GiB free; 77.50 GiB reserved in total by PyTorch)",
      ),
    ).toEqual({
      requested_bytes: 2 * GIB,
      total_bytes: Math.round(79.15 * GIB),
      allocated_bytes: Math.round(77.2 * GIB),
      free_bytes: Math.round(1.12 * GIB),
      reserved_bytes: Math.round(77.5 * GIB),
    });
    expect(
      sizesIn(
        "Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 23.69 GiB of which 8.19 MiB is free. Process 7 has 23.68 GiB memory in use. Of the allocated memory 22.00 GiB is allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but unallocated.",
      ),
    ).toEqual({
      requested_bytes: 20 * MIB,
      total_bytes: Math.round(23.69 * GIB),
      free_bytes: Math.round(8.19 * MIB),
      allocated_bytes: 22 * GIB,
      reserved_bytes: 22 * GIB + 512 * MIB,
    });
  });

  it("sizesIn reads MB as a binary unit, as MPS prints it", () => {
    expect(
      sizesIn(
        "(MPS allocated: 1.50 GB, other allocations: 300.00 MB, max allowed: 2.00 GB). Tried to allocate 64.00 MB on private pool.",
      ),
    ).toMatchObject({
      requested_bytes: 64 * MIB,
      allocated_bytes: 1.5 * GIB,
      total_bytes: 2 * GIB,
    });
  });

  it("sizesIn returns null for every size when the text contains none", () => {
    expect(Object.values(sizesIn("std::bad_alloc"))).toEqual([null, null, null, null, null]);
  });
});

describe("any output", () => {
  it("findMessages reads any output without failing", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 400 }), (text) => {
        findMessages(text);
      }),
    );
  });

  it.each([
    ["letters", "a"],
    ["messages", "CUDA out of memory "],
    ["tracebacks", "Traceback (most recent call last):\n"],
    ["indented errors", `${" ".repeat(10_000)}MemoryError\n`],
    ["XLA's messages", "RESOURCE_EXHAUSTED: XLA:T "],
    ["brackets", "["],
  ])("findMessages reads an output of many %s in time linear in its length", (_name, text) => {
    const read = (length: number) => findMessages(text.repeat(length / text.length));
    expect(costRatio(read, 60_000, 480_000)).toBeLessThan(MAX_LINEAR_RATIO);
  });
});
