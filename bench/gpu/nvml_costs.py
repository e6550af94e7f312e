"""What calls of NVML cost: usage nvml_costs.py SECONDS-A-FUNCTION MAX-CALLS. Prints {"functions": {name: {...}}, "init_ms": x}.

Times are of one call as Python makes it; `empty` is a call that returns a constant, so what is above it is NVML's.
"""

import ctypes
import json
import sys
import time

from nvml import PROCESSES, Nvml, NvmlError

seconds, most = float(sys.argv[1]), int(sys.argv[2])
clock = time.perf_counter_ns
began = clock()
nvml = Nvml()
init_ms = (clock() - began) / 1e6
handle, byref = nvml.handle, ctypes.byref


def processes(symbol):
    count, buffer = nvml.count, nvml.processes
    function = getattr(nvml.library, symbol)

    def one():
        count.value = PROCESSES
        return function(handle, byref(count), buffer)

    return one


def plain(symbol, *arguments):
    function = getattr(nvml.library, symbol)
    return lambda: function(*arguments)


def measure(call):
    for _ in range(3):
        code = call()
        if code != 0:
            return {"code": code}
    taken, until = [], clock() + int(seconds * 1e9)
    while len(taken) < most:
        before = clock()
        code = call()
        after = clock()
        if code != 0:
            return {"code": code, "calls": len(taken)}
        taken.append(after - before)
        if after > until:
            break
    taken.sort()
    at = lambda q: taken[min(len(taken) - 1, int(q * len(taken)))] / 1e3  # noqa: E731
    return {"calls": len(taken), "median_us": at(0.5), "p90_us": at(0.9), "p99_us": at(0.99), "max_us": taken[-1] / 1e3}


uuid = nvml.text("nvmlDeviceGetUUID", handle)
other = ctypes.c_void_p()
flag = ctypes.c_uint()
wanted = {
    "memory_v1": ("nvmlDeviceGetMemoryInfo", lambda name: plain(name, handle, byref(nvml.v1))),
    "memory_v2": ("nvmlDeviceGetMemoryInfo_v2", lambda name: plain(name, handle, byref(nvml.v2))),
    "compute_processes_v2": ("nvmlDeviceGetComputeRunningProcesses_v2", processes),
    "compute_processes_v3": ("nvmlDeviceGetComputeRunningProcesses_v3", processes),
    "graphics_processes_v2": ("nvmlDeviceGetGraphicsRunningProcesses_v2", processes),
    "mps_processes_v2": ("nvmlDeviceGetMPSComputeRunningProcesses_v2", processes),
    "handle_by_index": ("nvmlDeviceGetHandleByIndex_v2", lambda name: plain(name, ctypes.c_uint(0), byref(other))),
    "handle_by_uuid": ("nvmlDeviceGetHandleByUUID", lambda name: plain(name, (uuid or "").encode(), byref(other))),
    "persistence_mode": ("nvmlDeviceGetPersistenceMode", lambda name: plain(name, handle, byref(flag))),
    "accounting_mode": ("nvmlDeviceGetAccountingMode", lambda name: plain(name, handle, byref(flag))),
}
functions = {}
error_string = nvml.library.nvmlErrorString if nvml.has("nvmlErrorString") else None
if error_string is not None:
    error_string.restype = ctypes.c_void_p
    functions["empty"] = measure(lambda: 0 if error_string(0) else 1)
for name, (symbol, make) in wanted.items():
    functions[name] = measure(make(symbol)) if nvml.has(symbol) else {"missing": symbol}


class Event(ctypes.Structure):
    _fields_ = [("device", ctypes.c_void_p), ("type", ctypes.c_uint64), ("data", ctypes.c_uint64), ("gi", ctypes.c_uint32), ("ci", ctypes.c_uint32)]


TIMEOUT = 10
try:
    events, event = ctypes.c_void_p(), Event()
    nvml.check("nvmlEventSetCreate", byref(events))
    # Xid errors, double-bit ECC errors.
    nvml.check("nvmlDeviceRegisterEvents", handle, ctypes.c_uint64(0x8 | 0x2), events)
    waiting = "nvmlEventSetWait_v2" if nvml.has("nvmlEventSetWait_v2") else "nvmlEventSetWait"
    wait = getattr(nvml.library, waiting)
    # No event is pending: the call returns "timed out" at once.
    functions["events_wait_0"] = measure(lambda: 0 if wait(events, byref(event), ctypes.c_uint(0)) in (0, TIMEOUT) else 1)
except NvmlError as error:
    functions["events_wait_0"] = {"missing": str(error)}
listed = None
try:
    listed = len(nvml.list())
except NvmlError:
    pass
print(json.dumps({"functions": functions, "init_ms": init_ms, "processes_listed": listed}))
