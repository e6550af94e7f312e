"""Writes the snapshots the tests read, and their facts, into the given directory. Standard library only.

A training job of which every fact is known: parameters from before recording, an optimizer's state that comes once, activations
that swing by tens of MiB from step to step (the churn), a loader's ring of buffers, and one line that keeps 1.25 MiB a step (the
leak). Snapshots are taken in the middle of a step, while activations are alive."""

import json
import os
import random
import sys

import layouts
from caching_allocator import Allocator

MIB = 1 << 20
ROOT = "/home/user/project"
TORCH = "/opt/conda/lib/python3.11/site-packages/torch"
LEAK_BYTES = 1310800  # not a multiple of 512: rounding is seen
BASE = 0x7F5A00000000
SWING_SEED = 11
RISING_SEED = 25
HIGH_BASE = 0xFFFF800000000000


def frame(file, line, name):
    return {"name": name, "filename": file, "line": line}


def stack(*frames):
    return list(frames)


MAIN = frame(f"{ROOT}/train.py", 90, "main")
STEP = frame(f"{ROOT}/train.py", 44, "training_step")
CALL = frame(f"{TORCH}/nn/modules/module.py", 1553, "_call_impl")
LINEAR = frame(f"{TORCH}/nn/modules/linear.py", 125, "forward")
FORWARD = stack(LINEAR, CALL, frame(f"{ROOT}/model.py", 88, "forward"), CALL, STEP, MAIN)
LEAK = stack(frame(f"{TORCH}/_tensor.py", 1029, "wrapped"), frame(f"{ROOT}/train.py", 48, "training_step"), MAIN)
ADAM = stack(frame(f"{TORCH}/optim/adam.py", 143, "_init_group"), frame(f"{ROOT}/train.py", 61, "training_step"), MAIN)
LOADER = stack(frame(f"{ROOT}/data.py", 15, "__next__"), MAIN)
BACKWARD = stack(frame(f"{TORCH}/autograd/__init__.py", 266, "backward"), frame(f"{ROOT}/train.py", 52, "training_step"), MAIN)


class Job:
    def __init__(self, seed=7, base=BASE, leak=LEAK_BYTES, capacity=100_000, devices=1):
        self.random = random.Random(seed)
        self.clock = [1_717_000_000_000_000]
        self.devices = [Allocator(i, base + i * (1 << 40), self.clock, capacity) for i in range(devices)]
        self.gpu = self.devices[0]
        self.leak = leak
        self.kept = []
        self.ring = []
        self.activations = []
        self.annotations = []
        self.step = 0
        for size in (24 * MIB, 8 * MIB, 300_000):
            self.gpu.alloc(size, [])
        for device in self.devices:
            device.recording = True

    def mark(self, stage):
        name = "Optimizer.step#AdamW.step"
        self.annotations.append({"name": name, "stage": stage, "device": 0, "time_us": self.clock[0]})

    def forward(self):
        length = self.random.randrange(8, 90)
        for layer in range(6):
            self.activations.append(self.gpu.alloc(length * 97_000 + layer * 512, FORWARD))
        if self.leak:
            self.kept.append(self.gpu.alloc(self.leak, LEAK))
        self.ring.append(self.gpu.alloc(2 * MIB + self.random.randrange(4) * 4096, LOADER))

    def backward(self):
        if self.step == 0:
            for size in (24 * MIB, 8 * MIB):
                self.gpu.alloc(size, ADAM)
        for block in self.activations:
            self.gpu.free(block, BACKWARD)
        self.activations = []
        if len(self.ring) > 3:
            self.gpu.free(self.ring.pop(0), LOADER)
        self.clock[0] += 50_000
        self.mark("START")
        self.clock[0] += 2_000
        self.mark("END")
        self.step += 1

    def run_to(self, step):
        """Run to the middle of `step` (0-based), where activations are alive."""
        while True:
            self.forward()
            if self.step == step:
                return
            self.backward()

    def resume(self):
        self.backward()

    def take(self, layout, traces=True):
        return layouts.snapshot(self.devices, layout, self.annotations, traces)


def truth(job):
    """Live bytes by line, and the totals of the device."""
    lines = {}
    blocks = [b for d in job.devices for s in d.segments for b in s.blocks]
    for block in blocks:
        if block.state != "active_allocated":
            continue
        own = [f for f in block.frames if f["filename"].startswith(ROOT)]
        key = f"{os.path.relpath(own[0]['filename'], ROOT)}:{own[0]['line']}" if own else "<no stack>"
        line = lines.setdefault(key, {"bytes": 0, "requested": 0, "blocks": 0})
        line["bytes"] += block.size
        line["requested"] += block.requested
        line["blocks"] += 1
    inactive = [b.size for b in blocks if b.state == "inactive"]
    return {
        "step": job.step,
        "reserved": sum(s.size for d in job.devices for s in d.segments),
        "allocated": sum(b.size for b in blocks if b.state == "active_allocated"),
        "pending": sum(b.size for b in blocks if b.state == "active_pending_free"),
        "largest_inactive": max(inactive, default=0),
        "lines": lines,
    }


def main(directory):
    facts = {}

    def write(name, data, job):
        with open(os.path.join(directory, name), "wb") as file:
            file.write(data)
        facts[name] = truth(job)

    # One job, three snapshots of equal phase, at which the churn happens to be higher each time.
    job = Job(seed=RISING_SEED)
    for step in (4, 8, 12):
        job.run_to(step)
        write(f"leak-step{step:02d}.pickle", layouts.python_pickle(job.take(29), 5), job)
        job.resume()

    # Two snapshots, between which the churn rises by more than the leak: as current PyTorch writes them, and with
    # blocks alone.
    job = Job(seed=SWING_SEED)
    for step, name in ((4, "before"), (10, "after")):
        job.run_to(step)
        write(f"{name}.pickle", layouts.python_pickle(job.take(25), 4), job)
        write(f"{name}-blocks.pickle", layouts.python_pickle(job.take(25, traces=False), 4), job)
        job.resume()

    # The same state in every layout and protocol.
    job = Job(seed=3)
    job.run_to(3)
    for layout in (113, 20, 21, 25, 29):
        for protocol in (2, 4, 5):
            write(f"layout-{layout}-p{protocol}.pickle", layouts.python_pickle(job.take(layout), protocol), job)
    write("layout-native.pickle", layouts.native_pickle(job.take(21)), job)

    # Addresses of the upper half, two devices, a private pool, blocks another stream still uses, an out-of-memory
    # entry.
    job = Job(seed=5, base=HIGH_BASE, devices=2)
    job.run_to(2)
    other = job.devices[1]
    graph = other.alloc(6 * MIB, FORWARD, stream=0x55D0C0DE0010, pool=(0, 3))
    other.alloc(3 * MIB + 100, FORWARD, stream=0x55D0C0DE0010, pool=(0, 3))
    other.free(graph, BACKWARD, pending=True)
    job.gpu.out_of_memory(1 << 40, 5 * MIB, FORWARD)
    write("odd.pickle", layouts.python_pickle(job.take(29), 5), job)
    write("odd-native.pickle", layouts.native_pickle(job.take(21)), job)

    # Two ranks: rank 1 leaks.
    for rank, leak in ((0, 0), (1, LEAK_BYTES)):
        job = Job(seed=20 + rank, leak=leak)
        for step in (3, 6, 9):
            job.run_to(step)
            write(f"ranks_rank{rank}_step{step}.pickle", layouts.python_pickle(job.take(25, traces=False), 4), job)
            job.resume()

    with open(os.path.join(directory, "facts.json"), "w", encoding="utf-8") as file:
        # A line for each file, so that a difference names it.
        lines = ["%s: %s" % (json.dumps(name), json.dumps(facts[name], sort_keys=True)) for name in sorted(facts)]
        leak_bytes = -(-LEAK_BYTES // 512) * 512
        file.write('{"leak_bytes": %d, "files": {\n%s\n}}\n' % (leak_bytes, ",\n".join(lines)))


if __name__ == "__main__":
    main(sys.argv[1])
