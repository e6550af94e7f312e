import { existsSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import {
  atSteps,
  cheaply,
  type Ended,
  FIXTURES,
  HEAP,
  only,
  PYTHON_HEAP,
  probed,
  probedScript,
  RECORDED,
  recordsOf,
  slope,
  TIMER,
} from "./testing/probed.ts";
import { PYTHON, PYTHONS, versionOf, WITH_TORCH } from "./testing/pythons.ts";

const STEPS = 400;
const WARM_UP = 40;
/** `npm run soak` tries more often. */
const RUNS = Number(process.env.STORMLOG_TEST_HEAP_TRIES ?? 2);
const CLEAN_RUNS = Number(process.env.STORMLOG_TEST_HEAP_CLEAN_TRIES ?? 1);

interface Account {
  /** Bytes per step of the heap's readings at the ends of steps. */
  readonly seen: number;
  /** Bytes per step by a mallinfo2 of the script's own. */
  readonly truth: number;
  readonly readings: number;
}

async function account(kind: "leaky" | "clean"): Promise<Account> {
  const script = path.join(FIXTURES, "retained_logits.py");
  const ended: Ended = await probed(WITH_TORCH!, cheaply(script, kind, String(STEPS), String(WARM_UP)));
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  const truth = Number(/^truth (\S+) /m.exec(ended.stdout)?.[1]);
  const left = only(ended);
  expect(left.header.step).toBe(STEPS + WARM_UP);
  const points = atSteps(left, HEAP, 0).filter(([step]) => step > WARM_UP);
  return { seen: slope(points), truth, readings: points.length };
}

/** Two at a time. */
async function accounts(kind: "leaky" | "clean", count: number): Promise<Account[]> {
  const found: Account[] = [];
  for (let i = 0; i < count; i += 2) {
    const pair = Array.from({ length: Math.min(2, count - i) }, () => account(kind));
    found.push(...(await Promise.all(pair)));
  }
  return found;
}

describe.skipIf(WITH_TORCH === null)("the heap of a training loop on the CPU", () => {
  it(
    `shows 32 x 10 logits kept at every step to within a tenth of what they cost, in ${RUNS} of ${RUNS} tries`,
    async () => {
      for (const { seen, truth, readings } of await accounts("leaky", RUNS)) {
        // 1280 bytes of numbers, and what the allocator and the tensor add.
        expect(truth).toBeGreaterThan(1280);
        expect(truth).toBeLessThan(2500);
        expect(Math.abs(seen / truth - 1)).toBeLessThan(0.1);
        expect(readings).toBeGreaterThanOrEqual(24);
      }
    },
    60_000 + RUNS * 12_000,
  );

  it(
    "shows next to nothing in its clean twin",
    async () => {
      for (const { seen, truth, readings } of await accounts("clean", CLEAN_RUNS)) {
        expect(readings).toBeGreaterThanOrEqual(24);
        expect(Math.abs(truth)).toBeLessThan(150);
        expect(Math.abs(seen)).toBeLessThan(150);
      }
    },
    60_000 + CLEAN_RUNS * 12_000,
  );
});

const LIBRARIES = ["x86_64-linux-gnu", "aarch64-linux-gnu", "../lib64", "."].map((name) => path.join("/usr/lib", name));
const libraryOf = (name: string): string | undefined =>
  LIBRARIES.map((directory) => path.join(directory, name)).find((file) => existsSync(file));
const [JEMALLOC, MIMALLOC] = [libraryOf("libjemalloc.so.2"), libraryOf("libmimalloc.so.2")];

/** Holds 50 MB of blocks for a while, and then only the last of them. */
const HOLDS = `${RECORDED}
import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = (ctypes.c_void_p,)
recorded(8)
blocks = [libc.malloc(1000) for _ in range(50_000)]
recorded(8)
for block in blocks[:-1]: libc.free(block)
recorded(8)
`;

describe.skipIf(PYTHON === null)("the heap of any Python process", () => {
  it.for([
    ["mallinfo2", ""],
    ["jemalloc", JEMALLOC],
  ] as const)(
    "counts what malloc gave out, and what the process holds from the system: %s",
    async ([name, library], { skip }) => {
      if (library === undefined) return skip();
      const left = only(await probedScript(PYTHON!, HOLDS, { env: { LD_PRELOAD: library } }));
      expect(left.info.get("heap")).toBe(name);
      const pairs = recordsOf(left, HEAP).map(({ values }) => values);
      const start = pairs[0]!;
      const used = pairs.map((values) => (values[0] ?? 0) - (start[0] ?? 0));
      expect(Math.max(...used)).toBeGreaterThan(50_000_000);
      expect(Math.max(...used)).toBeLessThan(56_000_000);
      // Freed, but not returned to the system: the last block lies above them.
      expect(used.at(-1)).toBeLessThan(5_000_000);
      expect((pairs.at(-1)?.[1] ?? 0) - (start[1] ?? 0)).toBeGreaterThan(45_000_000);
    },
  );

  it.skipIf(MIMALLOC === undefined)("counts only what the process holds where malloc is that of mimalloc", async () => {
    const left = only(await probedScript(PYTHON!, HOLDS, { env: { LD_PRELOAD: MIMALLOC! } }));
    expect(left.info.get("heap")).toBe("mimalloc");
    const pairs = recordsOf(left, HEAP).map(({ values }) => values);
    expect(new Set(pairs.map(([used]) => used))).toEqual(new Set([null]));
    const held = pairs.map((values) => values[1] ?? 0);
    expect(Math.max(...held) - held[0]!).toBeGreaterThan(25_000_000);
  });

  it("the heap is read often enough in an idle program of one second", async () => {
    // Of a reading that takes 10 µs, as here where the processor's caches are warm. What a cold one costs differs.
    const script = `${RECORDED}
import itertools, sys
recorded(1)
sys.modules["_stormlog_probe.reading"].thread_time_ns = itertools.count(0, 10_000).__next__
for _ in range(50): time.sleep(0.02)
`;
    const left = only(await probedScript(PYTHON!, script));
    // About as often as the program wakes, which is late on a busy machine as well.
    expect(recordsOf(left, HEAP, TIMER).length).toBeGreaterThan(35);
  });

  it("the heap is read as often when a reading waits, and less often when it works", async () => {
    const readings = async (within: string): Promise<number> => {
      const script = `${RECORDED}
import sys
recorded(1)
heap = sys.modules["_stormlog_probe.heap"]
read = heap.read
def works(until):
    while time.thread_time() < until: pass
made = []
def longer():
    made.append(1)
    ${within}
    return read()
heap.read = longer
time.sleep(2)
print(len(made))
`;
      return Number((await probedScript(PYTHON!, script)).stdout);
    };
    const [waiting, working] = await Promise.all([
      readings("time.sleep(0.05)"),
      readings("works(time.thread_time() + 0.05)"),
    ]);
    expect(working).toBeGreaterThan(0);
    expect(waiting).toBeGreaterThan(2 * working);
  });

  it("the heap is read less often the more free blocks it has to walk", async () => {
    const script = `
import ctypes, time
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = (ctypes.c_void_p,)
blocks = [libc.malloc(1100) for _ in range(400_000)]
for block in blocks[::2]: libc.free(block)
class Counters(ctypes.Structure):
    _fields_ = [(str(at), ctypes.c_size_t) for at in range(10)]
libc.mallinfo2.restype = Counters
started = time.thread_time()
libc.mallinfo2()
one, started = time.thread_time() - started, time.process_time()
time.sleep(1.5)
print((time.process_time() - started) / one)
`;
    const ended = await probedScript(PYTHON!, script);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    // In walks over 200,000 free blocks, of which a cold one takes several times as long: 50 a second would be 75.
    expect(Number(ended.stdout)).toBeLessThan(25);
    expect(only(ended).records.length).toBeGreaterThan(2);
  });
});

describe.skipIf(PYTHONS.length === 0)("the memory of Python's own allocator", () => {
  // 100,000 blocks of 144 bytes: the object and its 100 bytes.
  const KEEPS = `${RECORDED}
import sys
if "PYTHONMALLOC" in os.environ: time.sleep(0.4)
else: recorded(8)
blocks = sys.getallocatedblocks()
kept = [bytes(100) for _ in range(100_000)]
print(sys.getallocatedblocks() - blocks)
if "PYTHONMALLOC" not in os.environ: recorded(8)
`;

  it.each(PYTHONS.map((python) => [versionOf(python), python] as const))(
    "blocks of Python's own allocator are counted in Python %s",
    async (_, python) => {
      const ended = await probedScript(python, KEEPS);
      expect(ended).toMatchObject({ code: 0, stderr: "" });
      const left = only(ended);
      expect(left.info.get("python_heap")).toBe("pymalloc");
      const readings = recordsOf(left, PYTHON_HEAP).map(({ values }) => values);
      const [first, last] = [readings[0]!, readings.findLast((values) => values[0]! > readings[0]![0]! + 14_000_000)!];
      const truth = Number(ended.stdout);
      // What the probe itself loads and reads meanwhile is a few hundred blocks.
      expect(last[2]! - first[2]!).toBeGreaterThan(truth - 2_000);
      expect(last[2]! - first[2]!).toBeLessThan(truth + 2_000);
      expect(last[0]! - first[0]!).toBeGreaterThan(144 * truth - 300_000);
      expect(last[0]! - first[0]!).toBeLessThan(144 * truth + 300_000);
      // Arenas hold what they hand out.
      for (const [used, held] of readings) expect(held!).toBeGreaterThanOrEqual(used!);
    },
    60_000,
  );

  it("memory of Python's own allocator is absent, with the reason, where Python does not use it", async () => {
    const left = only(await probedScript(PYTHONS[0]!, KEEPS, { env: { PYTHONMALLOC: "malloc" } }));
    expect(recordsOf(left, PYTHON_HEAP)).toEqual([]);
    expect(left.info.get("python_heap")).toMatch(/^none:.*PYTHONMALLOC/);
  });
});
