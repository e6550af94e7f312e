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


def _charge(budget, before, reason):
    """Charge a reading that began at `before` ns of this thread's processor time."""
    budget.spend(thread_time_ns() - before, time.monotonic_ns(), reason == ring.STEP)


def _still(pair, before, stir):
    if pair is None or before is None:
        return pair == before
    return abs((pair[0] or 0) - (before[0] or 0)) < stir and abs(pair[1] - before[1]) < stir


class Reading:
    def __init__(self, into, steps):
        """@param into the ring  @param steps whose count every record contains"""
        self._ring = into
        self._steps = steps
        self.backends = []
        self._names = set()
        self._heap_budget = Budget()
        self._python_budget = Budget(PYTHON_SHARE)
        self._device_budget = Budget()
        #: Monotonic ns before which `at_step` has nothing to do.
        self.next_at_step = 0
        self._next_bare = 0
        self._stepping = False
        #: What the last tick read: heap, Python's own, devices; and at which step.
        self._seen = (None, None, None)
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

            self.backends = self.backends + torch_devices.backends(module)
        elif name == "tensorflow":
            from . import framework_devices

            self.backends = self.backends + [framework_devices.TensorFlow(module)]
        elif name == "jax":
            from . import framework_devices

            self.backends = self.backends + [framework_devices.Jax(module)]

    def tick(self):
        """
        Reads within the timer's half of the budgets. The rest is for the steps, which are read at equal phase. True when the
        next tick can wait longer: nothing has moved since the tick before, or steps are read anyway.
        """
        if not self._busy.acquire(False):
            return True
        try:
            now = time.monotonic_ns()
            step = self._steps.count if self._steps.source is not None else None
            pair, python, devices = self._seen
            if now >= self._heap_budget.next_modest:
                before = thread_time_ns()
                pair = heap.read()
                if pair is not None:
                    self._ring.put_heap(now, ring.TIMER, pair[0], pair[1], step)
                    _charge(self._heap_budget, before, ring.TIMER)
            is_due = not self._quiet or now - self._python_read >= QUIET_PYTHON_NS
            if is_due and now >= self._python_budget.next_modest:
                python = self._read_python(ring.TIMER, step)
                self._python_read = now
            if self.backends and now >= self._device_budget.next_modest:
                before = thread_time_ns()
                devices = self._read_devices(ring.TIMER, step)
                _charge(self._device_budget, before, ring.TIMER)
            self._plan()
            heap_before, python_before, devices_before = self._seen
            quiet = step != self._last_count or (
                devices == devices_before
                and _still(pair, heap_before, STIR_BYTES)
                and _still(python, python_before, PYTHON_STIR_BYTES)
            )
            if not quiet:
                # Kept until something moves, so that slow growth adds up to a move.
                self._seen = (pair, python, devices)
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
            recorded = False
            if not self._stepping:
                self._stepping = True
                for budget in (self._heap_budget, self._python_budget, self._device_budget):
                    budget.first_step(began)
            if began >= self._heap_budget.next:
                before = thread_time_ns()
                recorded = self._read_heap(ring.STEP, step)
                _charge(self._heap_budget, before, ring.STEP)
            if began >= self._python_budget.next:
                recorded = self._read_python(ring.STEP, step) is not None or recorded
            if self.backends and began >= self._device_budget.next:
                before = thread_time_ns()
                recorded = len(self._read_devices(ring.STEP, step)) > 0 or recorded
                _charge(self._device_budget, before, ring.STEP)
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
            step = self._steps.count if self._steps.source is not None else None
            now = time.monotonic_ns()
            if self._heap_budget.has_left(now):
                before = thread_time_ns()
                self._read_heap(ring.TIMER, step)
                _charge(self._heap_budget, before, ring.TIMER)
            if self._python_budget.has_left(now):
                self._read_python(ring.TIMER, step)
            if self.backends and self._device_budget.has_left(now):
                before = thread_time_ns()
                self._read_devices(ring.TIMER, step)
                _charge(self._device_budget, before, ring.TIMER)
            self._plan()
        finally:
            self._busy.release()

    def _plan(self):
        soonest = min(self._heap_budget.next, self._next_bare)
        if self.backends:
            soonest = min(soonest, self._device_budget.next)
        self.next_at_step = soonest

    def now(self, reason):
        """Everything, whatever it costs: [(device kind, device index, values)] of the devices."""
        step = self._steps.count if self._steps.source is not None else None
        self._read_heap(reason, step)
        self._read_python(reason, step)
        return self._read_devices(reason, step)

    def _read_heap(self, reason, step):
        began = time.monotonic_ns()
        pair = heap.read()
        if pair is None:
            return False
        self._ring.put_heap(began, reason, pair[0], pair[1], step)
        return True

    def _read_python(self, reason, step):
        """Charged to its budget. The values, or None."""
        before = thread_time_ns()
        values = pymalloc.read()
        if values is None:
            return None
        self._ring.put(ring.HEAP, ring.PYTHON, reason, values + _UNKNOWN[len(values) :] + (step,))
        _charge(self._python_budget, before, reason)
        return values

    def at_end(self):
        """The last reading of everything."""
        self.now(ring.END)
        step = self._steps.count if self._steps.source is not None else None
        for backend in self.backends:
            pools = getattr(backend, "pools_at_end", None)
            for index, values in pools() if pools is not None else ():
                self._put_pools(backend.kind, index, ring.END, values, step)

    def _put_pools(self, kind, index, reason, values, step):
        self._ring.put(kind, ring.POOLS + index, reason, values + _UNKNOWN[len(values) :] + (step,))

    def _read_devices(self, reason, step):
        found = []
        for backend in self.backends:
            try:
                for index, values in backend.read():
                    self._ring.put(backend.kind, index, reason, values + _UNKNOWN[len(values) :] + (step,))
                    found.append((backend.kind, index, values))
                pools = getattr(backend, "pools", None)
                for index, values in pools(ring.monotonic_ns()) if pools is not None else ():
                    self._put_pools(backend.kind, index, reason, values, step)
            except Exception as error:  # noqa: BLE001 (one backend's trouble is not another's)
                complain(error)
        return found
