"""What PyTorch's memory history costs on its real allocator: usage snapshot.py --directory DIR [--small].

Trains a little and keeps every step's activations, writes a snapshot at three moments, and prints times and sizes as one line of JSON.
"""

import argparse
import inspect
import json
import os
import pickle
import time

import torch
from device import MIB, STANDIN, device

parser = argparse.ArgumentParser()
parser.add_argument("--directory", required=True)
parser.add_argument("--small", action="store_true")
arguments = parser.parse_args()
os.makedirs(arguments.directory, exist_ok=True)
memory = torch.cuda.memory
ENTRIES = 100_000
gpu = device()
gpu.begin()


def record(on):
    """The history in the form this PyTorch has; false when it has none."""
    start = getattr(memory, "_record_memory_history", None)
    if start is None:
        return False
    names = inspect.signature(start).parameters
    if "stacks" in names or any(one.kind is one.VAR_KEYWORD for one in names.values()):
        start("all", context="all", stacks="python", max_entries=ENTRIES) if on else start(enabled=None)
    else:
        start(on)
    return True


def pairs(count):
    began = time.perf_counter()
    for _ in range(count):
        block = gpu.hold(MIB)
        del block
    gpu.reserved()
    return (time.perf_counter() - began) / count * 1e6


count = 200 if arguments.small else 20_000
pairs(count // 10)
plain_us = pairs(count)
recorded = record(True)
recorded_us = pairs(count) if recorded else None

kept = []
size = 2 * MIB // gpu.scale


# Allocated here and not by the helper: the the report names the innermost line of user code.
def step():
    kept.append(gpu.hold(size) if STANDIN else torch.empty(size, dtype=torch.uint8, device="cuda"))


def churn():
    blocks = [gpu.hold(size // 2) if STANDIN else torch.empty(size // 2, dtype=torch.uint8, device="cuda") for _ in range(8)]
    del blocks


dumps = []
per_moment = 3 if arguments.small else 200
for moment in range(1, 4):
    for _ in range(per_moment):
        step()
        churn()
    began = time.perf_counter()
    found = memory._snapshot()
    taken = time.perf_counter() - began
    name = os.path.join(arguments.directory, "snapshot_step%d.pickle" % (moment * per_moment))
    began = time.perf_counter()
    with open(name, "wb") as out:
        pickle.dump(found, out, protocol=4)
    dumps.append({
        "take_s": taken,
        "write_s": time.perf_counter() - began,
        "bytes": os.path.getsize(name),
        "trace_entries": sum(len(trace) for trace in found.get("device_traces", [])),
        "blocks": sum(len(segment["blocks"]) for segment in found["segments"]),
    })
without_traces_s = None
if "include_traces" in inspect.signature(memory._snapshot).parameters:
    began = time.perf_counter()
    memory._snapshot(include_traces=False)
    without_traces_s = time.perf_counter() - began
print(json.dumps({
    "standin": STANDIN,
    "recorded": recorded,
    "pair_us": plain_us,
    "pair_recorded_us": recorded_us,
    "dumps": dumps,
    "without_traces_s": without_traces_s,
    "keeps_line": "snapshot.py:%d" % (step.__code__.co_firstlineno + 1),
    "keeps_bytes_per_step": size,
    "steps": 3 * per_moment,
}))
