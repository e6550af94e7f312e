"""Allocates and frees device memory through the driver as fast as it can: usage storm.py cuda|host.

Each line of standard input is a number of seconds (0 = until killed); answers {"pairs", "seconds", "median_us", "p99_us"}. `host` does
the same with pages of the host, without a GPU: it replaces the load, and its figures are meaningless.
"""

import ctypes
import json
import mmap
import sys
import time

SIZES = [2 << 20, 16 << 20, 64 << 20]


def cuda_pair():
    cuda = ctypes.CDLL("libcuda.so.1")

    def check(name, *arguments):
        code = getattr(cuda, name)(*arguments)
        if code != 0:
            raise SystemExit("%s failed with %d" % (name, code))

    device, context, pointer = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    check("cuInit", ctypes.c_uint(0))
    check("cuDeviceGet", ctypes.byref(device), ctypes.c_int(0))
    check("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    check("cuCtxSetCurrent", context)

    def pair(size):
        check("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        check("cuMemFree_v2", pointer)

    return pair


def host_pair():
    def pair(size):
        mmap.mmap(-1, size).close()

    return pair


pair = cuda_pair() if sys.argv[1] == "cuda" else host_pair()
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    seconds = float(line)
    began, taken, i = time.perf_counter(), [], 0
    before = began
    while seconds == 0 or before < began + seconds:
        pair(SIZES[i % len(SIZES)])
        after = time.perf_counter()
        if seconds > 0:
            taken.append(after - before)
        before = after
        i += 1
    taken.sort()
    print(
        json.dumps({"pairs": len(taken), "seconds": before - began, "median_us": taken[len(taken) // 2] * 1e6, "p99_us": taken[int(len(taken) * 0.99)] * 1e6}),
        flush=True,
    )
