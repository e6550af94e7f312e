import { describe, expect, it } from "vitest";
import { HEAP, OOM, probedScript, RECORDED, recordsOf } from "./testing/probed.ts";
import { atLeast, PYTHON, PYTHONS, type Python, versionOf, WITH_TORCH } from "./testing/pythons.ts";

const EACH = PYTHONS.map((python) => [versionOf(python), python] as const);

async function ooms(python: Python, script: string, code: number) {
  const ended = await probedScript(python, script);
  expect(ended.code).toBe(code);
  expect(ended.stderr).not.toMatch(/stormlog/i);
  return ended.left.flatMap((left) => left.ooms.map((oom) => ({ ...Object.fromEntries(oom), left })));
}

/** Fails for lack of address space, as under `ulimit -v`. */
const LIMITED = `${RECORDED}
import resource, sys
recorded(8)
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (96 << 20), resource.RLIM_INFINITY))
`;

describe.skipIf(PYTHON === null)("the probe at an out-of-memory error", () => {
  it.each(EACH)(
    "the probe records a fatal MemoryError with its traceback and the memory in use in Python %s",
    async (_version, python) => {
      const script = `${LIMITED}
kept = []
def grow():
    while True: kept.append(bytearray(8 << 20))
grow()`;
      const [first, ...more] = await ooms(python, script, 1);
      expect(more).toEqual([]);
      expect(first).toMatchObject({ kind: "memory-error", exception: "MemoryError", device: "host" });
      expect(Number(first?.["allocated_bytes" as keyof typeof first])).toBeGreaterThan(50 << 20);
      expect(first?.["traceback" as keyof typeof first]).toMatch(/script\.py", line \d+, in grow/);
      expect(recordsOf(first!.left, HEAP, OOM)).toHaveLength(1);
    },
  );

  it.each(EACH)(
    "the probe records a MemoryError from small objects that used up the last byte in Python %s",
    async (_version, python) => {
      const script = `${LIMITED}
kept = []
def grow():
    while True: kept.append([object(), object()])
grow()`;
      const [first] = await ooms(python, script, 1);
      expect(first).toMatchObject({ kind: "memory-error", exception: "MemoryError" });
    },
  );

  it.each(EACH)("the probe records the MemoryError that ended a thread in Python %s", async (_version, python) => {
    const script = `import threading
${LIMITED}
def work(): bytearray(1 << 40)
thread = threading.Thread(target=work)
thread.start(); thread.join()`;
    const [first, ...more] = await ooms(python, script, 0);
    expect(more).toEqual([]);
    expect(first).toMatchObject({ kind: "memory-error" });
    expect(first?.["traceback" as keyof typeof first]).toMatch(/in work/);
  });

  it.skipIf(atLeast(12) === null)(
    "the probe records at most five errors that the program swallows, from Python 3.12 on",
    async () => {
      const script = `import time; time.sleep(0.8)
def again(n):
    try:
        list(map(lambda size: bytearray(size), [1 << 50]))
    except MemoryError as error:
        pass
for n in range(20): again(n)
print("went on")`;
      const found = await ooms(atLeast(12)!, script, 0);
      expect(found.length).toBeGreaterThanOrEqual(1);
      expect(found.length).toBeLessThanOrEqual(5);
      for (const one of found) expect(one).toMatchObject({ kind: "memory-error" });
      expect(found[0]?.["traceback" as keyof (typeof found)[0]]).toMatch(/in again[\s\S]*in <lambda>/);
    },
  );

  it("ignores other errors, whatever their message", async () => {
    const script = `import time; time.sleep(0.8)
class Odd(RuntimeError):
    def __str__(self): print("asked"); raise SystemExit(9)
for error in (KeyError("out of memory"), RuntimeError("nothing"), Odd("fine"), RecursionError("deep"), OSError(2, "x")):
    try: raise error
    except Exception: pass
def deep(n): return deep(n + 1)
try: deep(0)
except RecursionError: print("deep")
raise ValueError("memory")`;
    const ended = await probedScript(PYTHON!, script);
    expect(ended).toMatchObject({ code: 1, stdout: "deep\n" });
    expect(ended.left.flatMap((left) => left.ooms)).toEqual([]);
  });

  it("does not keep objects of an error alive", async () => {
    const script = `import gc, time, weakref; time.sleep(0.8)
class Big: pass
def fail():
    big = Big()
    seen.append(weakref.ref(big))
    bytearray(1 << 50)
seen = []
try: fail()
except MemoryError: pass
gc.collect()
print(seen[0]() is None)`;
    expect((await probedScript(PYTHON!, script)).stdout).toBe("True\n");
  });

  it.skipIf(WITH_TORCH === null)("recognises the error of PyTorch's CPU allocator", async () => {
    const [first, ...more] = await ooms(
      WITH_TORCH!,
      "import torch\ndef make(): return torch.empty(1 << 50)\nmake()",
      1,
    );
    expect(more).toEqual([]);
    expect(first).toMatchObject({ kind: "torch-exception", requested_bytes: String(2 ** 52) });
    expect(first?.["traceback" as keyof typeof first]).toMatch(/in make/);
  });
});
