import path from "node:path";
import { describe, expect, it } from "vitest";
import {
  atSteps,
  CUDA,
  CUDA_POOLS,
  EXPLICIT,
  HEAP,
  JAX,
  OOM,
  only,
  POOLS_FROM,
  probedScript,
  RECORDED,
  recordsOf,
  STAND_INS,
  STEP,
  TENSORFLOW,
} from "./testing/probed.ts";
import { PYTHON, PYTHONS, versionOf } from "./testing/pythons.ts";

const EACH = PYTHONS.map((python) => [versionOf(python), python] as const);
const MIB = 2 ** 20;
const torch = { pythonPath: [path.join(STAND_INS, "torch-cuda")] };

/** 1 MiB more on device 1 every 10 ms for half a second, with a spike of 100 MiB that no reading falls upon. */
const GROWING = `
import time, torch
time.sleep(0.3)
torch.cuda.init()
for step in range(50):
    torch._C.allocate(1, 1 << 20)
    if step == 25:
        torch._C.allocate(1, 100 << 20)
        torch._C.release(1, 100 << 20)
    time.sleep(0.01)
`;

describe.skipIf(PYTHON === null)("the probe and the allocators of frameworks", () => {
  const python = PYTHON!;

  it.each(EACH)(
    "the probe reads CUDA's counters with their exact peaks, of devices in use only, in Python %s",
    async (_version, python) => {
      const ended = await probedScript(python, GROWING, torch);
      expect(ended).toMatchObject({ code: 0, stdout: "initialised\n", stderr: "" });
      const left = only(ended);
      const read = recordsOf(left, CUDA);
      expect(read.length).toBeGreaterThan(10);
      expect(new Set(read.map(({ deviceIndex }) => deviceIndex))).toEqual(new Set([1]));
      const last = read.at(-1)!.values;
      const [allocated, reserved, active, peak, reservedPeak, retries, ooms, step] = last;
      expect({ allocated, active, retries, ooms, step }).toEqual({
        allocated: 50 * MIB,
        active: 50 * MIB,
        retries: 0,
        ooms: 0,
        step: null,
      });
      expect(peak).toBe(126 * MIB);
      expect(reserved).toBe(126 * MIB);
      expect(reservedPeak).toBe(126 * MIB);
      // Growth was followed, not only its end.
      expect(new Set(read.map(({ values }) => values[0])).size).toBeGreaterThan(8);
      expect(Object.fromEntries(left.info)).toMatchObject({
        framework: "torch",
        torch: "2.9.0+standin",
        cuda: "12.8",
        "device.cuda:1.uuid": "GPU-00000000-0000-0000-0000-000000000001",
        "device.cuda:0.name": "Stand-in GPU",
        "device.cuda:1.total": String(2 ** 30),
      });
      const pools = recordsOf(left, CUDA_POOLS);
      expect(new Set(pools.map(({ deviceIndex }) => deviceIndex))).toEqual(new Set([POOLS_FROM + 1]));
      // What cannot be released while it runs, and what graphs reserve at the end.
      expect(pools[0]?.values.slice(0, 2)).toEqual([0, null]);
      expect(pools.at(-1)?.values.slice(0, 2)).toEqual([0, 0]);
      expect(left.info.get("peaks_reset")).toBeUndefined();
      expect(left.header.flags & 16).toBe(0);
    },
  );

  it("never initialises CUDA, and queries nothing in a fork that cannot use it", async () => {
    const idle = await probedScript(python, "import time, torch; time.sleep(0.8)", torch);
    expect(idle).toMatchObject({ code: 0, stdout: "", stderr: "" });
    expect(recordsOf(only(idle), CUDA)).toHaveLength(0);
    expect(only(idle).info.get("error")).toBeUndefined();
    const script = `
import os, time, torch
torch.cuda.init()
torch._C.allocate(0, 1 << 20)
time.sleep(0.3)
if os.fork() == 0:
    time.sleep(0.8)
    os._exit(0)
os.wait()
`;
    const forked = await probedScript(python, script, torch);
    expect(forked).toMatchObject({ code: 0, stdout: "initialised\n", stderr: "" });
    const child = forked.left.find(({ header }) => !header.ended)!;
    expect(recordsOf(child, HEAP).length).toBeGreaterThan(5);
    expect(recordsOf(child, CUDA)).toHaveLength(0);
    expect(child.info.get("error")).toBeUndefined();
  });

  it("keeps a peak that the program resets, and names the caller", async () => {
    const script = `
import sys, time, types, torch
tool = types.ModuleType("meddler")
exec("import torch\\ndef reset():\\n  torch.cuda.reset_peak_memory_stats(0)", tool.__dict__)
torch.cuda.init()
torch._C.allocate(0, 10 << 20)
time.sleep(0.3)
for step in range(10):
    torch._C.allocate(0, 200 << 20)
    torch._C.release(0, 200 << 20)
    tool.reset()
    time.sleep(0.03)
`;
    const ended = await probedScript(python, script, torch);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    const left = only(ended);
    const peaks = recordsOf(left, CUDA).map(({ values }) => values[3] ?? 0);
    expect(Math.max(...peaks)).toBe(210 * MIB);
    expect(recordsOf(left, CUDA, EXPLICIT).length).toBeGreaterThan(0);
    expect(left.header.flags & 16).toBe(16);
    expect(Object.fromEntries(left.info)).toMatchObject({ peaks_reset: "1", peaks_reset_by: "meddler" });
  });

  it("sees counters that were set back behind it", async () => {
    const script = `${RECORDED}
import torch
original = torch._C._cuda_resetPeakMemoryStats
while hasattr(original, "__wrapped__") or original.__closure__:
    original = getattr(original, "__wrapped__", None) or next(cell.cell_contents for cell in original.__closure__ if getattr(cell.cell_contents, "__name__", "") == "_cuda_resetPeakMemoryStats")
torch.cuda.init()
torch._C.allocate(0, 300 << 20)
torch._C.release(0, 200 << 20)
recorded(12)
original(0)
recorded(12)
`;
    const left = only(await probedScript(python, script, torch));
    expect(left.header.flags & 16).toBe(16);
    expect(left.info.get("peaks_reset")).toBe("1");
  });

  it.each(["traceml", "traceml_ai"])("recognises TraceML as %s", async (name) => {
    const script = `import sys, types; sys.modules['${name}'] = types.ModuleType('${name}')\nimport time; time.sleep(0.9)`;
    expect(only(await probedScript(python, script)).info.get("traceml")).toBe("1");
  });

  it("records CUDA's report when its memory is full: the request, the counters, a snapshot, the last reading", async () => {
    const script = `
import time, torch
def fill():
    torch._C.allocate(0, 400 << 20)
torch.cuda.init()
optimizer = torch.optim.SGD([object()])
for step in range(5):
    try:
        fill()
    except torch.OutOfMemoryError:
        print("swallowed")
    optimizer.step()
print("went on")
`;
    const ended = await probedScript(python, script, torch);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(ended.stdout).toContain("swallowed\nswallowed\nswallowed\nwent on\n");
    const left = only(ended);
    const [first] = left.ooms;
    expect(Object.fromEntries(first!)).toMatchObject({
      kind: "torch-observer",
      device: "cuda:0",
      requested_bytes: String(400 * MIB),
      allocated_bytes: String(800 * MIB),
      free_bytes: String(224 * MIB),
      total_bytes: String(1024 * MIB),
      step: "2",
      snapshot: `${left.name}.oom.0.pickle`,
    });
    expect(first!.get("traceback")).toMatch(/script\.py", line \d+, in fill/);
    expect(first!.get("traceback")).not.toContain("_stormlog_probe");
    const records = recordsOf(left, CUDA, OOM);
    expect(records.length).toBeGreaterThanOrEqual(3);
    expect(records.at(-1)?.values[6]).toBe(3);
  });

  it("reads TensorFlow's GPUs once its context exists, without creating it", async () => {
    const script = `
import time, tensorflow as tf
time.sleep(0.4)
print("now")
for step in range(20):
    tf.allocate(0, 3 << 20)
    time.sleep(0.02)
time.sleep(0.2)
tf.config.experimental.reset_memory_stats("GPU:0")
`;
    const ended = await probedScript(python, script, { pythonPath: [path.join(STAND_INS, "tensorflow")] });
    expect(ended).toMatchObject({ code: 0, stdout: "now\ninitialised\n", stderr: "" });
    const left = only(ended);
    const read = recordsOf(left, TENSORFLOW).filter(({ deviceIndex }) => deviceIndex === 0);
    expect(read.at(-1)?.values.slice(0, 4)).toEqual([60 * MIB, null, null, 60 * MIB]);
    expect(left.info.get("tensorflow")).toBe("2.18.0+standin");
  });

  it("reads JAX's devices once a backend was chosen, without choosing one", async () => {
    const script = `
import time, jax
time.sleep(0.4)
print("now")
device = jax.local_devices()[0]
for step in range(20):
    device.allocate(5 << 20)
    time.sleep(0.02)
`;
    const ended = await probedScript(python, script, { pythonPath: [path.join(STAND_INS, "jax")] });
    expect(ended).toMatchObject({ code: 0, stdout: "now\ninitialised\n", stderr: "" });
    const left = only(ended);
    const read = recordsOf(left, JAX);
    expect(new Set(read.map(({ deviceIndex }) => deviceIndex))).toEqual(new Set([0]));
    expect(read.at(-1)?.values.slice(0, 4)).toEqual([100 * MIB, 256 * MIB, null, 100 * MIB]);
    expect(Object.fromEntries(left.info)).toMatchObject({ framework: "jax", jax: "0.6.0+standin", jaxlib: "0.6.0" });
  });

  it("reads devices at the ends of steps, so that growth is one of equal phase", async () => {
    const script = `
import time, torch
torch.cuda.init()
optimizer = torch.optim.Adam([object()])
for step in range(100):
    torch._C.allocate(0, 64 << 20)
    time.sleep(0.002)
    torch._C.release(0, 64 << 20)
    torch._C.allocate(0, 1000)
    optimizer.step()
`;
    const left = only(await probedScript(python, script, torch));
    const points = atSteps(left, CUDA, 0);
    expect(points.length).toBeGreaterThan(24);
    // Not one of them has the batch in it.
    for (const [step, bytes] of points) expect(bytes).toBe(step * 1000);
    expect(
      recordsOf(left, CUDA, STEP).every(({ values }) => values[3] === 64 * MIB + ((values[7] ?? 1) - 1) * 1000),
    ).toBe(true);
  });
});
