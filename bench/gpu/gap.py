"""What a process holds on its device besides what PyTorch reserved, stage by stage, as the driver and the allocator report it.

usage: gap.py [--small] [--slow] [--output FILE]; prints {"stages": [...], "accounting": ..., "checks": {...}} as one line.
"""

import argparse
import ctypes
import json
import os
import time

from device import MIB, STANDIN, device
from nvml import Nvml, NvmlError

parser = argparse.ArgumentParser()
parser.add_argument("--small", action="store_true")
parser.add_argument("--slow", action="store_true", help="long stages, so that process lists, which the gate spaces by what they cost, see each of them")
parser.add_argument("--output")
arguments = parser.parse_args()
pause = (0.4 if arguments.small else 3.5) if arguments.slow else 0.0

nvml, gpu = Nvml(), device()
stages, problems = [], []


def stage(name, touched=True):
    time.sleep(0.05)
    try:
        process = nvml.own_used() if touched else None
    except NvmlError as error:
        process = None
        problems.append(str(error))
    used, reserved = nvml.device_used(), gpu.reserved() if touched else 0
    stages.append({
        "stage": name,
        "process_bytes": process,
        "device_bytes": used,
        "reserved_bytes": reserved,
        "gap_process_bytes": None if process is None else process - reserved,
        "gap_device_bytes": used - stages[0]["device_bytes"] - reserved if stages else 0,
    })
    time.sleep(pause)
    return stages[-1]


stage("before", touched=False)
gpu.begin()
stage("context")
gpu.libraries()
stage("libraries")
no_communicator = gpu.communicator()
if no_communicator is None:
    stage("communicator")
optimizer = gpu.optimizer()
for _ in range(20):
    optimizer.step()
    time.sleep(0.01)
before = stage("steps")

size = 2048 * MIB // gpu.scale
held = gpu.hold(size)
after = stage("held")
# Is memory that the allocator maps itself (expandable segments) counted by the driver? Then both have grown by the
# same.
checks = {
    "held_bytes": size,
    "reserved_grew_bytes": after["reserved_bytes"] - before["reserved_bytes"],
    "process_grew_bytes": None if None in (after["process_bytes"], before["process_bytes"]) else after["process_bytes"] - before["process_bytes"],
    "device_grew_bytes": after["device_bytes"] - before["device_bytes"],
}
# A peak so short that no sampler sees it: only the driver's high-water mark does.
spike_bytes = 4096 * MIB // gpu.scale
spike = gpu.hold(spike_bytes)
if arguments.slow:
    stage("spike")
del spike
gpu.give_back()
calm = stage("after the spike")
peak = nvml.accounting_peak(os.getpid())
gap = calm["gap_process_bytes"]
checks.update({
    "accounting_peak_bytes": peak,
    "max_reserved_bytes": gpu.peak_reserved(),
    # The driver's peak less what is not the allocator's, against the allocator's own: 0 when both are exact.
    "accounting_less_gap_less_reserved_bytes": None if None in (peak, gap) else peak - gap - gpu.peak_reserved(),
})

raw = None
if not STANDIN:
    # Memory that another library allocates outside PyTorch.
    pointer = ctypes.c_uint64()
    code = ctypes.CDLL("libcuda.so.1").cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(512 * MIB))
    raw = {"asked_bytes": 512 * MIB, "code": code}
    grown = stage("taken past the allocator")
    raw["gap_grew_bytes"] = None if None in (grown["gap_process_bytes"], gap) else grown["gap_process_bytes"] - gap

document = {
    "stages": stages,
    "accounting": nvml.accounting_on(),
    "no_communicator": no_communicator,
    "checks": checks,
    "raw": raw,
    "allocator_conf": os.environ.get("PYTORCH_CUDA_ALLOC_CONF"),
    "problems": sorted(set(problems)),
}
text = json.dumps(document)
if arguments.output:
    with open(arguments.output, "w") as out:
        out.write(text)
print(text)
