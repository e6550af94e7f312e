import path from "node:path";
import { describe, expect, it } from "vitest";
import { parseProbeInfo } from "../../src/telemetry/reading/probe-info.ts";
import { only, probedScript, STAND_INS } from "./testing/probed.ts";
import { PYTHON, WITH_TORCH } from "./testing/pythons.ts";

const CLOCK = "import time\nclock = time.monotonic_ns\n";

/** Numbers that the program printed, and the times that its probe reported. */
async function moments(stdout: string, info: ReadonlyMap<string, string>) {
  const lines = [...info].map(([key, value]) => `${key}=${value}`).join("\n");
  return {
    printed: stdout
      .trim()
      .split(/\s+/)
      .filter((word) => /^\d+$/.test(word))
      .map(BigInt),
    marks: parseProbeInfo(lines)!.marks,
  };
}

describe.skipIf(WITH_TORCH === null)("what torch.distributed does first", () => {
  const SET_UP = `${CLOCK}import os, sys, tempfile, torch
import torch.distributed as distributed
from torch.distributed import new_group
torch.set_num_threads(1)
store = "file://" + tempfile.mktemp()
`;

  it("the first calls of torch.distributed are reported with their times, and torch has its own functions again", async () => {
    const ended = await probedScript(
      WITH_TORCH!,
      `${SET_UP}
before = clock()
distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
between = clock()
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
after = clock()
new_group([0])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(2, 4)).sum().backward()
optimizer.step()
for function in (distributed.init_process_group, distributed.new_group, torch.nn.parallel.DistributedDataParallel.__init__):
    assert "_stormlog_probe" not in function.__code__.co_filename, function
time.sleep(0.3)
print(before, between, after, clock())
`,
    );
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    const { printed, marks } = await moments(ended.stdout, only(ended).info);
    const [before, between, after, end] = printed;
    expect(marks.context).toBeNull();
    expect(marks.group! > before! && marks.group! < between!).toBe(true);
    expect(marks.wrap![0] > between! && marks.wrap![1] < after!).toBe(true);
    expect(marks.firstStep! > after! && marks.firstStep! < end!).toBe(true);
  });

  it("fails as it fails without the probe", async () => {
    const ended = await probedScript(
      WITH_TORCH!,
      `${SET_UP}
for _ in range(2):
    try:
        distributed.init_process_group("no such backend", init_method=store, rank=0, world_size=1)
    except Exception as error:
        print(type(error).__name__)
time.sleep(0.2)
`,
    );
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    const [first, second, ...more] = ended.stdout.trim().split("\n");
    expect([first, more]).toEqual([second, []]);
    expect(first).not.toBe("");
    expect(only(ended).info.has("mark.group")).toBe(true);
    expect(only(ended).info.get("error")).toBeUndefined();
  });

  it("a torch.distributed function that the program replaced is left alone", async () => {
    const ended = await probedScript(
      WITH_TORCH!,
      `${SET_UP}
theirs = lambda *args, **kwargs: original(*args, **kwargs)
original, distributed.init_process_group = distributed.init_process_group, theirs
distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
print(distributed.init_process_group is theirs)
time.sleep(0.2)
`,
    );
    expect(ended).toMatchObject({ code: 0, stderr: "", stdout: "True\n" });
    expect(only(ended).info.has("mark.group")).toBe(true);
  });
});

describe.skipIf(PYTHON === null)("when CUDA becomes available", () => {
  it("the start of CUDA is reported with the visible devices", async () => {
    const ended = await probedScript(
      PYTHON!,
      `${CLOCK}import torch\nbefore = clock()\ntorch.cuda.init()\nprint(before, clock())\ntime.sleep(0.2)`,
      {
        pythonPath: [path.join(STAND_INS, "torch-cuda")],
        env: { CUDA_DEVICE_ORDER: "PCI_BUS_ID", ROCR_VISIBLE_DEVICES: "0,1", ZE_AFFINITY_MASK: "0.1" },
      },
    );
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    const { info } = only(ended);
    const { printed, marks } = await moments(ended.stdout, info);
    expect(marks.context! >= printed[0]! && marks.context! <= printed[1]!).toBe(true);
    expect([info.get("cuda_device_order"), info.get("rocr_visible_devices"), info.get("ze_affinity_mask")]).toEqual([
      "PCI_BUS_ID",
      "0,1",
      "0.1",
    ]);
  });
});
