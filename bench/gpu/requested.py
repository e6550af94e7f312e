"""Fragmentation, pools of captured graphs and memory past the allocator, as the allocator and the driver report them; prints one line of JSON.

usage: requested.py; needs CUDA.
"""

import ctypes
import json
import time

import torch
from device import MIB, device
from nvml import Nvml

nvml, gpu = Nvml(), device()
gpu.begin()
gpu.libraries()
optimizer = gpu.optimizer()


def steps(count):
    for _ in range(count):
        optimizer.step()
        time.sleep(0.05)


steps(10)
# Process lists, which the gate spaces by what they cost, see each stage.
time.sleep(3.5)

# Of four blocks in each segment of 20 MiB one stays, so that the segment cannot be released.
blocks = [gpu.hold(5 * MIB) for _ in range(128)]
kept = blocks[::4]
del blocks
steps(10)
fragmentation = torch.cuda.memory_stats()["inactive_split_bytes.all.peak"]

graph = torch.cuda.CUDAGraph()
source = gpu.hold(256 * MIB)
with torch.cuda.graph(graph):
    doubled = source * 2
    result = doubled + 1
graph.replay()
steps(10)
pools = sum(segment["total_size"] for segment in torch.cuda.memory_snapshot() if tuple(segment.get("segment_pool_id", (0, 0))) != (0, 0))

pointer = ctypes.c_uint64()
code = ctypes.CDLL("libcuda.so.1").cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(512 * MIB))
time.sleep(3.5)
outside = nvml.own_used() - gpu.reserved()
steps(10)
print(json.dumps({
    "fragmentation": fragmentation,
    "graph_pools": pools,
    "outside_allocator": outside,
    "allocation_code": code,
}))
