"""Bytes of torch's caching allocators: CUDA and ROCm, XPU, MPS. Reads only what is initialised already, and never resets."""

import sys

from . import complain, ring

#: Upper bound of devices per process.
MAX_DEVICES = 64
#: Devices that hold nothing are read no more often than this (each costs 4 us). Nanoseconds.
IDLE_NS = 200_000_000
#: What cannot be released is recorded this often, and at every new maximum. Nanoseconds.
POOLS_NS = 50_000_000
#: A snapshot has an object for every block: one of more would delay the exit of a program.
MAX_BLOCKS = 20_000


def _counter(stats, name, what="current"):
    try:
        return stats[name]["all"][what]
    except (KeyError, TypeError):
        return None


class CachingAllocator:
    """CUDA (also ROCm) or XPU: one nested dictionary per device, straight from the allocator."""

    def __init__(self, kind, initialized, count, stats, snapshot=None):
        """@param initialized whether the device is  @param count of devices  @param stats of the allocator, by device number"""
        self._snapshot = snapshot
        self.kind = kind
        self._initialized = initialized
        self._ask_count = count
        self._ask = stats
        self._count = None
        self._in_use = set()
        #: What its splits hold that cannot be released, by device number, as last read.
        self._held = {}
        self._peaks = {}
        self._next_everyone = 0
        self._next_pools = {}
        self._highest_held = {}
        #: Whether the counters that the exact peak is read from were reset.
        self.peaks_reset = False

    def initialized(self):
        return self._initialized()

    def read(self):
        """Per device that has ever held memory: (index, values)."""
        if not self._initialized():
            return []
        if self._count is None:
            self._count = min(self._ask_count(), MAX_DEVICES)
        now = ring.monotonic_ns()
        everyone = now >= self._next_everyone
        if everyone:
            self._next_everyone = now + IDLE_NS
        found = []
        for index in range(self._count):
            if index in self._in_use or everyone:
                try:
                    values = self._values(index, self._ask(index))
                except Exception as error:  # noqa: BLE001 (an allocator that keeps no statistics)
                    complain(error)
                    continue
                if index in self._in_use or values[1] or values[4]:
                    self._in_use.add(index)
                    found.append((index, values))
        return found

    def pools(self, now):
        """Per device that is due: (index, (bytes that cannot be released, bytes reserved for graphs))."""
        found = []
        for index in self._in_use:
            held = self._held.get(index)
            if held is not None and (now >= self._next_pools.get(index, 0) or held > self._highest_held.get(index, 0)):
                self._next_pools[index] = now + POOLS_NS
                self._highest_held[index] = max(held, self._highest_held.get(index, 0))
                found.append((index, (held, None)))
        return found

    def pools_at_end(self):
        """The same with the pools of graphs, which are kept until the graphs are gone."""
        if self._snapshot is None or not self._in_use or not self._initialized():
            return []
        blocks = 0
        for index in self._in_use:
            stats = self._ask(index)
            blocks += (_counter(stats, "active") or 0) + (_counter(stats, "inactive_split") or 0)
        if blocks > MAX_BLOCKS:
            return []
        graphs = dict.fromkeys(self._in_use, 0)
        snapshot = self._snapshot()
        if snapshot is None:
            return []
        for segment in snapshot["segments"]:
            pool = segment.get("segment_pool_id")
            if pool is None:
                return []
            if tuple(pool) != (0, 0) and segment["device"] in graphs:
                graphs[segment["device"]] += segment["total_size"]
        return [(index, (self._held.get(index), graphs[index])) for index in sorted(graphs)]

    def _values(self, index, stats):
        peak = _counter(stats, "allocated_bytes", "peak")
        if peak is not None:
            # It can only rise, unless it is reset: then the exact peak of the run is lost.
            self.peaks_reset = self.peaks_reset or peak < self._peaks.get(index, 0)
            self._peaks[index] = peak
        self._held[index] = _counter(stats, "inactive_split_bytes")
        return (
            _counter(stats, "allocated_bytes"),
            _counter(stats, "reserved_bytes"),
            _counter(stats, "active_bytes"),
            peak,
            _counter(stats, "reserved_bytes", "peak"),
            stats.get("num_alloc_retries"),
            stats.get("num_ooms"),
        )


class Mps:
    """Apple's GPU: two counters, no peak."""

    kind = ring.MPS
    peaks_reset = False

    def __init__(self, torch):
        self._torch = torch
        self._used = False

    def initialized(self):
        # Reading an idle allocator would start it, and torch does not report whether it runs. But a program that uses
        # the device has asked first whether there is one (the answer is cached), or has made its random number
        # generator.
        if not self._used:
            asked = getattr(getattr(self._torch.backends, "mps", None), "is_available", None)
            cached = getattr(asked, "cache_info", None)
            generator = getattr(self._torch.mps, "_default_mps_generator", None)
            self._used = generator is not None or (cached is not None and cached().currsize > 0 and asked())
        forked = getattr(self._torch.mps, "_is_in_bad_fork", None)
        return self._used and not (forked is not None and forked())

    def read(self):
        if not self.initialized():
            return []
        return [(0, (self._torch.mps.current_allocated_memory(), self._torch.mps.driver_allocated_memory()))]


def backends(torch):
    """Every allocator this build of torch has."""
    found = []
    core = getattr(torch, "_C", None)
    for kind, name in ((ring.CUDA, "cuda"), (ring.XPU, "xpu")):
        module = getattr(torch, name, None)
        stats = getattr(core, "_%s_memoryStats" % name, None)
        if stats is not None and hasattr(module, "is_initialized"):
            found.append(CachingAllocator(kind, _usable(module, core, name), module.device_count, stats, _snapshots(core, name)))
    mps = getattr(torch, "mps", None)
    if sys.platform == "darwin" and hasattr(mps, "current_allocated_memory"):
        found.append(Mps(torch))
    return found


def _snapshots(core, name):
    """A function that returns a snapshot of the allocators, or None while their history is recorded; None where there is none."""
    take = getattr(core, "_%s_memorySnapshot" % name, None)
    recording = getattr(core, "_%s_isHistoryEnabled" % name, None)
    if take is None:
        return None

    def snapshot():
        # Its history would be a part of it.
        if recording is not None and recording():
            return None
        try:
            return take(None)
        except TypeError:
            # In older releases it takes no memory pool.
            return take()

    return snapshot


def _usable(module, core, name):
    in_bad_fork = getattr(core, "_%s_isInBadFork" % name, None)
    return lambda: module.is_initialized() and not (in_bad_fork is not None and in_bad_fork())


def describe(module, name):
    """Name, UUID, PCI address and size of the devices of `torch.cuda` or `torch.xpu`, for the info file; only once it is initialised."""
    values = {}
    for index in range(min(module.device_count(), MAX_DEVICES)):
        properties = module.get_device_properties(index)
        prefix = "device.%s:%d." % (name, index)
        values[prefix + "name"] = getattr(properties, "name", None)
        values[prefix + "total"] = getattr(properties, "total_memory", None)
        bus = getattr(properties, "pci_bus_id", None)
        if isinstance(bus, int):
            address = (getattr(properties, "pci_domain_id", 0), bus, getattr(properties, "pci_device_id", 0))
            values[prefix + "pci"] = "%04x:%02x:%02x.0" % address
        uuid = getattr(properties, "uuid", None)
        # NVIDIA's tools write this prefix, torch does not.
        values[prefix + "uuid"] = None if uuid is None else "GPU-%s" % uuid if name == "cuda" else str(uuid)
    return values


def report_resets(torch, reset):
    """Have `reset(who)` called before the program resets CUDA's peak counters. `who` is the name of the calling module."""
    original = getattr(torch._C, "_cuda_resetPeakMemoryStats", None)
    if original is None:
        return

    def reporting(*args, **kwargs):
        frame = sys._getframe(1)
        # Past torch's own functions around it.
        while frame is not None and frame.f_globals.get("__name__", "").startswith("torch."):
            frame = frame.f_back
        reset(frame.f_globals.get("__name__", "?") if frame is not None else "?")
        return original(*args, **kwargs)

    torch._C._cuda_resetPeakMemoryStats = reporting
