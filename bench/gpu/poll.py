"""Calls NVML at a rate, as a monitor does. Each line of standard input is `memory|list HZ SECONDS`; answers {"calls", "busy_s"}."""

import ctypes
import json
import sys
import time

from nvml import Nvml, NvmlError

nvml = Nvml()


def memory():
    nvml.call("nvmlDeviceGetMemoryInfo_v2", nvml.handle, ctypes.byref(nvml.v2))


def lists():
    # A monitor queries all devices.
    for kind in ("Compute", "Graphics"):
        try:
            nvml.list(kind)
        except NvmlError:
            pass


print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    what, hz, seconds = line.split()
    call, period = {"memory": memory, "list": lists}[what], 1 / float(hz)
    began = due = time.perf_counter()
    calls, busy = 0, 0.0
    while due < began + float(seconds):
        rest = due - time.perf_counter()
        if rest > 0:
            time.sleep(rest)
        before = time.perf_counter()
        call()
        busy += time.perf_counter() - before
        calls += 1
        # A call that outlasts its period makes the next one follow at once, never several to catch up.
        due = max(due + period, time.perf_counter())
    print(json.dumps({"calls": calls, "busy_s": busy}), flush=True)
