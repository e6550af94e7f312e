"""NVML through ctypes: as little as the measurements need, every function looked up by itself.

STORMLOG_GATE_NVML names another library, as for the gate itself.
"""

import ctypes
import os

CODES = {1: "UNINITIALIZED", 2: "INVALID_ARGUMENT", 3: "NOT_SUPPORTED", 4: "NO_PERMISSION", 6: "NOT_FOUND", 7: "INSUFFICIENT_SIZE",
         9: "DRIVER_NOT_LOADED", 10: "TIMEOUT", 12: "LIBRARY_NOT_FOUND", 13: "FUNCTION_NOT_FOUND", 15: "GPU_IS_LOST",
         18: "LIB_RM_VERSION_MISMATCH", 25: "ARGUMENT_VERSION_MISMATCH", 999: "UNKNOWN"}
UNKNOWN_BYTES = 0xFFFFFFFFFFFFFFFF
# More than any list is long: growing the buffer would be a second call.
PROCESSES = 1024


class MemoryV1(ctypes.Structure):
    _fields_ = [("total", ctypes.c_uint64), ("free", ctypes.c_uint64), ("used", ctypes.c_uint64)]


class MemoryV2(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("total", ctypes.c_uint64), ("reserved", ctypes.c_uint64), ("free", ctypes.c_uint64),
                ("used", ctypes.c_uint64)]


class Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint32), ("used", ctypes.c_uint64), ("gpu_instance", ctypes.c_uint32), ("compute_instance", ctypes.c_uint32)]


class Accounting(ctypes.Structure):
    _fields_ = [("gpu_utilization", ctypes.c_uint32), ("memory_utilization", ctypes.c_uint32), ("max_memory", ctypes.c_uint64),
                ("time_ms", ctypes.c_uint64), ("start_us", ctypes.c_uint64), ("is_running", ctypes.c_uint32), ("reserved", ctypes.c_uint32 * 5)]


class NvmlError(Exception):
    def __init__(self, what, code):
        super().__init__("%s: %s" % (what, CODES.get(code, code)))
        self.code = code


class Nvml:
    def __init__(self, index=0):
        self.library = ctypes.CDLL(os.environ.get("STORMLOG_GATE_NVML") or "libnvidia-ml.so.1")
        self.check("nvmlInit_v2")
        self.handle = ctypes.c_void_p()
        self.check("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(self.handle))
        self.v1, self.v2 = MemoryV1(), MemoryV2()
        # The header's macro: size and version in one integer.
        self.v2.version = ctypes.sizeof(MemoryV2) | 2 << 24
        self.processes = (Process * PROCESSES)()
        self.count = ctypes.c_uint()

    def has(self, symbol):
        return hasattr(self.library, symbol)

    def call(self, symbol, *arguments):
        return getattr(self.library, symbol)(*arguments)

    def check(self, symbol, *arguments):
        if not self.has(symbol):
            raise NvmlError(symbol, 13)
        code = self.call(symbol, *arguments)
        if code != 0:
            raise NvmlError(symbol, code)

    def text(self, symbol, *before):
        out = ctypes.create_string_buffer(128)
        try:
            self.check(symbol, *before, out, ctypes.c_uint(96))
        except NvmlError:
            return None
        return out.value.decode("utf-8", "replace")

    def device_used(self):
        """Used bytes of the device without the driver's own reserve if NVML separates them."""
        if self.has("nvmlDeviceGetMemoryInfo_v2") and self.call("nvmlDeviceGetMemoryInfo_v2", self.handle, ctypes.byref(self.v2)) == 0:
            return self.v2.used
        self.check("nvmlDeviceGetMemoryInfo", self.handle, ctypes.byref(self.v1))
        return self.v1.used

    def list(self, kind="Compute"):
        """Processes of one kind as {pid: bytes or None}; `_v2` has had one layout ever since."""
        self.count.value = PROCESSES
        self.check("nvmlDeviceGet%sRunningProcesses_v2" % kind, self.handle, ctypes.byref(self.count), self.processes)
        found = {}
        for one in self.processes[: self.count.value]:
            used = None if one.used == UNKNOWN_BYTES else one.used
            before = found.get(one.pid)
            # A process may be listed twice, since the lists overlap: the larger value counts.
            found[one.pid] = used if before is None else max(before, used or 0)
        return found

    def own_used(self):
        """Memory of this process by the driver's account; None when the driver does not report it."""
        found = self.list()
        if os.getpid() in found:
            return found[os.getpid()]
        # In a separate pid namespace the only entry must be this process.
        return next(iter(found.values())) if len(found) == 1 else None

    def accounting_peak(self, pid):
        """The driver's high-water mark, or None: disabled, unknown, or 0, which has no meaning in containers."""
        out = Accounting()
        try:
            self.check("nvmlDeviceGetAccountingStats", self.handle, ctypes.c_uint(pid), ctypes.byref(out))
        except NvmlError:
            return None
        return out.max_memory if out.max_memory not in (0, UNKNOWN_BYTES) else None

    def accounting_on(self):
        mode = ctypes.c_int()
        try:
            self.check("nvmlDeviceGetAccountingMode", self.handle, ctypes.byref(mode))
        except NvmlError as error:
            return str(error)
        return mode.value == 1
