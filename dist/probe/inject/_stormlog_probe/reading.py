"""Readings of the process's memory counters into the ring, each within its budget."""

import time
from time import thread_time_ns

from . import complain, heap, pymalloc, ring, threads
from .budget import Budget

#: Step records without a reading (a reading was too expensive for this step) are at least this far apart. Nanoseconds.
BARE_STEP_NS = 20_000_000

_UNKNOWN = (None,) * 7

#: Noise of the heap: blocks in the caches of threads, and what a reading allocates. Bytes.
STIR_BYTES = 4096

#: What a program that keeps nothing allocates and frees of Python's own memory meanwhile. Bytes.
PYTHON_STIR_BYTES = 65_536

#: While nothing moves, or steps read it, the timer reads Python's own memory this often. Growth is judged from 24
#: readings on, and a few hundred kilobytes a second are less than a move from one tick to the next. Nanoseconds.
QUIET_PYTHON_NS = 250_000_000

#: Readings of CPython's own allocator take this share of the time: they explain growth, which a few a second show.
PYTHON_SHARE = 0.002


def _still(value, before, stir):
    if value is None or before is None or stir is None:
        return value == before
    return abs((value[0] or 0) - (before[0] or 0)) < stir and abs(value[1] - before[1]) < stir


class _Counters:
    """Counters of one kind with their budget: `read(reason, step)` writes them into the ring, and returns what it read."""

    def __init__(self, read, stir, budget):
        self.read = read
        self.stir = stir
        self.budget = budget
        #: What the last tick read that saw a move.
        self.seen = None

    def charged(self, reason, step):
        before = thread_time_ns()
        value = self.read(reason, step)
        self.budget.spend(thread_time_ns() - before, time.monotonic_ns(), reason == ring.STEP)
        return value


class Reading:
    def __init__(self, into, steps):
        """@param into the ring  @param steps whose count every record contains"""
        self._ring = into
        self._steps = steps
        self.backends = []
        self._names = set()
        self._heap = _Counters(self._read_heap, STIR_BYTES, Budget())
        self._python = _Counters(self._read_python, PYTHON_STIR_BYTES, Budget(PYTHON_SHARE))
        self._devices = _Counters(self._read_devices, None, Budget())
        #: Those that there are.
        self._all = (self._heap, self._python)
        #: Monotonic ns before which `at_step` has nothing to do.
        self.next_at_step = 0
        self._next_bare = 0
        self._stepping = False
        self._last_count = None
        self._quiet = False
        self._python_read = 0
        # Ticks and steps both read. The one that finds the lock taken skips its reading.
        self._busy = threads.allocate_lock()

    def add(self, name, module):
        """The allocators of a framework."""
        if name in self._names:
            return
        self._names.add(name)
        if name == "torch":
            from . import torch_devices

            found = torch_devices.backends(module)
        else:
            from . import framework_devices

            found = [(framework_devices.TensorFlow if name == "tensorflow" else framework_devices.Jax)(module)]
        self.backends = self.backends + found
        if self.backends:
            self._all = (self._heap, self._python, self._devices)

    def _step(self):
        """None before the first."""
        return self._steps.count if self._steps.source is not None else None

    def tick(self):
        """
        Reads within the timer's half of the budgets. The rest is for the steps, which are read at equal phase. True when the
        next tick can wait longer: nothing has moved since the tick before, or steps are read anyway.
        """
        if not self._busy.acquire(False):
            return True
        try:
            now = time.monotonic_ns()
            step = self._step()
            found = []
            for counters in self._all:
                value = counters.seen
                rests = counters is self._python and self._quiet and now - self._python_read < QUIET_PYTHON_NS
                if not rests and now >= counters.budget.next_modest:
                    value = counters.charged(ring.TIMER, step)
                    if counters is self._python:
                        self._python_read = now
                found.append((counters, value))
            self._plan()
            quiet = step != self._last_count or all(_still(value, one.seen, one.stir) for one, value in found)
            if not quiet:
                # Kept until something moves, so that slow growth adds up to a move.
                for counters, value in found:
                    counters.seen = value
            self._last_count = step
            self._quiet = quiet
            return quiet
        finally:
            self._busy.release()

    def at_step(self, began):
        """At the end of a step, at monotonic time `began`. Not needed before `next_at_step`."""
        if not self._busy.acquire(False):
            return
        try:
            step = self._steps.count
            if not self._stepping:
                self._stepping = True
                for counters in (self._heap, self._python, self._devices):
                    counters.budget.first_step(began)
            recorded = False
            for counters in self._all:
                if began >= counters.budget.next and counters.charged(ring.STEP, step):
                    recorded = True
            if not recorded:
                self._ring.put(ring.NO_DEVICE, 0, ring.STEP, _UNKNOWN + (step,))
            self._next_bare = began + BARE_STEP_NS
            self._plan()
        finally:
            self._busy.release()

    def at_phase(self):
        """At both ends of a phase: the readings give the growth of the phase."""
        if not self._busy.acquire(False):
            return
        try:
            now = time.monotonic_ns()
            for counters in self._all:
                if counters.budget.has_left(now):
                    counters.charged(ring.TIMER, self._step())
            self._plan()
        finally:
            self._busy.release()

    def _plan(self):
        soonest = min(self._heap.budget.next, self._next_bare)
        self.next_at_step = min(soonest, self._devices.budget.next) if self.backends else soonest

    def now(self, reason):
        """Everything, whatever it costs: [(device kind, device index, values)] of the devices."""
        step = self._step()
        self._read_heap(reason, step)
        self._python.charged(reason, step)
        return self._read_devices(reason, step)

    def _read_heap(self, reason, step):
        began = time.monotonic_ns()
        pair = heap.read()
        if pair is not None:
            self._ring.put_heap(began, reason, pair[0], pair[1], step)
        return pair

    def _read_python(self, reason, step):
        values = pymalloc.read()
        if values is not None:
            self._put(ring.HEAP, ring.PYTHON, reason, values, step)
        return values

    def at_end(self):
        """The last reading of everything."""
        self.now(ring.END)
        for backend in self.backends:
            pools = getattr(backend, "pools_at_end", None)
            for index, values in pools() if pools is not None else ():
                self._put(backend.kind, ring.POOLS + index, ring.END, values, self._step())

    def _put(self, kind, index, reason, values, step):
        self._ring.put(kind, index, reason, values + _UNKNOWN[len(values) :] + (step,))

    def _read_devices(self, reason, step):
        found = []
        for backend in self.backends:
            try:
                for index, values in backend.read():
                    self._put(backend.kind, index, reason, values, step)
                    found.append((backend.kind, index, values))
                pools = getattr(backend, "pools", None)
                for index, values in pools(ring.monotonic_ns()) if pools is not None else ():
                    self._put(backend.kind, ring.POOLS + index, reason, values, step)
            except Exception as error:  # noqa: BLE001 (one backend's trouble is not another's)
                complain(error)
        return found
