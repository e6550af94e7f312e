"""The C side: device memory, its counters, and PyTorch's behaviour when it is exhausted."""

import os

from torch import _driver

MIB = 1 << 20
TOTAL = int(os.environ.get("FAKE_CUDA_TOTAL", 1 << 30))
BLOCK = 2 * MIB


class OutOfMemoryError(RuntimeError):
    __module__ = "torch"


def _counter():
    return {"all": {"current": 0, "peak": 0, "allocated": 0, "freed": 0}}


class _Device:
    def __init__(self):
        self.stats = {name: _counter() for name in ("allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes")}
        self.stats.update(num_alloc_retries=0, num_ooms=0)
        self.graphs = 0

    def add(self, name, size):
        counter = self.stats[name]["all"]
        counter["current"] += size
        counter["peak"] = max(counter["peak"], counter["current"])


_devices = [_Device() for _ in _driver.devices]
_owner = None
_observers = []


def _cuda_init():
    global _owner
    _owner = os.getpid()


def _cuda_isInBadFork():
    return _owner is not None and _owner != os.getpid()


def _need_cuda(what):
    # The real ones would make a context, or crash.
    if _owner != os.getpid():
        raise SystemError("%s before CUDA was initialised in this process" % what)


def _cuda_memoryStats(index):
    _need_cuda("_cuda_memoryStats")
    device = _devices[index].stats
    return {name: {"all": dict(value["all"])} if isinstance(value, dict) else value for name, value in device.items()}


def _cuda_resetPeakMemoryStats(index):
    _need_cuda("_cuda_resetPeakMemoryStats")
    for value in _devices[index].stats.values():
        if isinstance(value, dict):
            value["all"]["peak"] = value["all"]["current"]


def _cuda_attach_out_of_memory_observer(observer):
    _need_cuda("_cuda_attach_out_of_memory_observer")
    _observers.append(observer)


def _cuda_memorySnapshot(*_args):
    _need_cuda("_cuda_memorySnapshot")
    segments = [
        _segment(number, (0, 1), device.graphs) for number, device in enumerate(_devices) if device.graphs > 0
    ]
    return {"segments": segments, "device_traces": [[], []]}


def _segment(device, pool, size):
    """A segment that one block fills."""
    address = 0x7F0000000000
    block = {"address": address, "size": size, "requested_size": size, "state": "active_allocated", "frames": []}
    sizes = dict.fromkeys(("total_size", "allocated_size", "active_size"), size)
    return dict(sizes, device=device, address=address, stream=0, segment_type="large", segment_pool_id=pool, blocks=[block])


def allocate(index, size):
    """Allocation of a tensor of `size` bytes."""
    _need_cuda("an allocation")
    device = _devices[index]
    current = device.stats["allocated_bytes"]["all"]["current"]
    if current + size > TOTAL:
        device.stats["num_alloc_retries"] += 1
        device.stats["num_ooms"] += 1
        for observer in _observers:
            observer(index, size, TOTAL, TOTAL - current)
        raise OutOfMemoryError("CUDA out of memory. Tried to allocate %.2f MiB. GPU %d has a total capacity of 1.00 GiB" % (size / MIB, index))
    device.add("allocated_bytes", size)
    device.add("active_bytes", size)
    needed = -(-device.stats["allocated_bytes"]["all"]["current"] // BLOCK) * BLOCK
    device.add("reserved_bytes", max(0, needed - device.stats["reserved_bytes"]["all"]["current"]))
    _driver.hold(index, "reserved", device.stats["reserved_bytes"]["all"]["current"])


def split(index, size):
    """`size` bytes more of its segments are free, and beside others that are not."""
    _devices[index].add("inactive_split_bytes", size)


def capture(index, size):
    """A graph is captured, whose pool reserves `size` bytes."""
    device = _devices[index]
    device.graphs += size
    device.add("reserved_bytes", size)
    _driver.hold(index, "reserved", device.stats["reserved_bytes"]["all"]["current"])


def make_context(index):
    """First use of a device, before any allocation."""
    _need_cuda("a context")
    _driver.hold(index, "context", _driver.CONTEXT)


def load_libraries(index):
    """First matrix product: loads kernels and workspaces outside the allocator."""
    _driver.hold(index, "libraries", _driver.LIBRARIES)


def release(index, size):
    device = _devices[index]
    device.add("allocated_bytes", -size)
    device.add("active_bytes", -size)
