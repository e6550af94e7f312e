"""When the live memory is written down: at given steps, or at given seconds of the process."""

import atexit
import os
import threading  # noqa: F401 (in the main thread: it takes the thread that loads it for the main one)
import time

from .. import FRAMEWORKS, complain, is_importing, threads

# A timed moment waits this long for the end of a step, where the program has steps, and so many times as long as its
# longest step took: moments of equal phase compare better.
STEP_PATIENCE_S = 2.0
STEP_PATIENCE = 3
# It then waits this long for an operator of the program, before the clock's own thread takes it.
OPERATOR_PATIENCE_S = 0.3
# Moments follow the clock, but leave the program at least this share of the time between them: a program that computes
# is paused while a moment is taken.
MIN_GAP_SHARE = 0.5
# How often the clock looks whether the import of a framework is over.
IMPORT_POLL_S = 0.02


def parse(text):
    """("steps" or "seconds", ascending moments) of STORMLOG_GATE_ATTRIBUTE_AT; None when it is not valid."""
    kind, colon, numbers = (text or "").partition(":")
    if not colon or kind not in ("steps", "seconds"):
        return None
    try:
        at = [float(number) for number in numbers.split(",")]
    except ValueError:
        return None
    at = sorted(set(one for one in at if 0 <= one < 1e12))
    return (kind, at) if at else None


def run_age():
    """Seconds since the run began, 0 when unknown: the gate writes its recording file just before."""
    directory = os.environ.get("STORMLOG_GATE_PROBE_DIR")
    try:
        began = os.stat(os.path.join(os.path.dirname(directory), "recording.json")).st_mtime
    except (OSError, TypeError):
        return 0.0
    return max(0.0, time.time() - began)


class Scheduled:
    """What one process writes at the moments of a schedule, and at its end.

    A kind of attribution adds `take(moment, in_program)`, which writes one moment (`in_program`: called by the thread that
    runs the program), and `finish()`, which is called at the end of the process.
    """

    def __init__(self, base_path, wanted, native):
        """`native`: the stacks of the C heap.  `wanted`: as `parse` returns it."""
        self.native = native
        self._torch = None
        self._begin(base_path, wanted)

    def _begin(self, base_path, wanted):
        self.base = base_path
        self.pid = os.getpid()
        self.devices = []
        self._taking = threads.allocate_lock()
        step_file = os.environ.get("STORMLOG_GATE_STEP_FILE")
        self.schedule = Schedule(wanted[0], wanted[1], self.prepare, self.take, run_age(), step_file)

    def start(self):
        self.native.start()
        self.schedule.start()
        atexit.register(self.finish)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def _forked(self):
        # The files are the parent's. `restart` begins again when the probe follows into the child.
        self.schedule.stop()

    def restart(self, base_path, wanted):
        self._begin(base_path, wanted)
        self.schedule.start()

    def prepare(self):
        """Before the first moment."""

    def tick(self):
        """In the probe's own thread. True when steps are taken from the step file."""
        return False

    def optimizer(self, optimizer):
        """An optimizer has stepped."""

    def phase(self, name):
        """The program enters a phase; None: it leaves the innermost."""

    def follow_devices(self, torch, recording, entries):
        """Record the devices' history of `entries`. `recording()` is called once one records."""
        from .cuda import MODULES, DeviceMemory

        for name in MODULES:
            device = DeviceMemory(torch, name, recording, entries)
            if device.start():
                self.devices.append(device)


class Schedule:
    """Calls `take(moment, in_program)` once for every moment, in order; a moment that was overtaken is left out.

    Before them, one interval ahead of the first, it calls `prepare()` once.
    """

    def __init__(self, kind, at, prepare, take, age=0.0, step_file=None):
        """`age`: seconds that the run has lasted already, which is what moments in seconds are counted from.

        `step_file`: where programs write the number of their step.
        """
        self.kind = kind
        self.at = at
        self.prepare = prepare
        self.take = take
        self.prepared = False
        self.next = 0
        self.taken = 0
        # Read for every operator: whether a moment of the clock waits to be taken.
        self.due = False
        self._due_since = 0.0
        # Whether the program's steps call `at_step`, when the last was over, and how long a moment waits for the next.
        self._stepped = False
        self._stepped_at = 0.0
        self._step_patience = STEP_PATIENCE_S
        self._step_file = step_file
        # A step that is there already was written by another process.
        self._old_text = self._step_text()
        # Held by the thread that takes a moment of the step file.
        self._following = threads.allocate_lock()
        # Whether the program's operators call `at_operator`.
        self.operators = False
        self._lock = threads.allocate_lock()
        self._started = time.monotonic() - age
        # Until a moment is taken, it is unknown when the next is due.
        self._taking = False
        # When the last moment was taken.
        self._taken_at = None
        # Held until the clock's thread is to look again.
        self._asleep = threads.allocate_lock()
        self._asleep.acquire()
        self._stopped = False

    def start(self):
        """Start the clock, when moments are given in seconds. The program does not see its thread in `threading`."""
        if self.kind == "seconds":
            threads.start_with_full_stack(self._run)

    def stop(self):
        self._stopped = True
        self.due = False
        self._wake()

    def _wake(self):
        try:
            self._asleep.release()
        except RuntimeError:  # it is to look already
            pass

    def _prepare(self):
        with self._lock:
            if self.prepared:
                return
            self.prepared = True
        self.prepare()

    @property
    def _ahead(self):
        """When to prepare: an interval before the first moment."""
        return self.at[0] - (self.at[1] - self.at[0]) if len(self.at) > 1 else 0.0

    @property
    def over(self):
        return self.next >= len(self.at)

    def at_step(self, step):
        """The end of a step, in the thread that made it."""
        if self._stopped or self.over:
            return
        if self.kind == "seconds":
            if self._stepped:
                took = time.monotonic() - self._stepped_at
                self._step_patience = max(self._step_patience, STEP_PATIENCE * took)
            self._stepped = True
            if self.due:
                self._take_due(True)
            self._stepped_at = time.monotonic()
            return
        self._stepped = True
        if not self.prepared and step >= self._ahead:
            self._prepare()
        if step < self.at[self.next]:
            return
        with self._lock:
            moment = self._reached(step)
            self.next = moment + 1
        self._take(moment, True)

    def _reached(self, step):
        moment = self.next
        while moment + 1 < len(self.at) and self.at[moment + 1] <= step:
            moment += 1
        return moment

    def file_step(self):
        """The step in the step file; None where the program reports none there, or counts otherwise."""
        if self.kind != "steps" or self._stepped or self._stopped or self.over:
            return None
        text = self._step_text()
        return int(text) if text != self._old_text and text.isdigit() else None

    def _step_text(self):
        try:
            file = os.open(self._step_file, os.O_RDONLY)
        except (OSError, TypeError):
            return b""
        try:
            return os.read(file, 32).strip()
        finally:
            os.close(file)

    def at_file_step(self, step):
        """The step file has this step. In the probe's own thread, whose stack is too small to take a moment."""
        if (step >= self.at[self.next] or (not self.prepared and step >= self._ahead)) and self._following.acquire(False):
            threads.start_with_full_stack(self._follow, step)

    def _follow(self, step):
        try:
            if not self.prepared:
                self._prepare()
            if step >= self.at[self.next]:
                self.next = self._reached(step)
                self._offer()
        except Exception as error:  # noqa: BLE001
            complain(error)
        finally:
            self._following.release()

    def at_operator(self):
        """Between two operators of the program."""
        if self._stepped and time.monotonic() - self._due_since < self._step_patience:
            return
        self._take_due(True)

    def _take_due(self, in_program):
        with self._lock:
            if not self.due:
                return
            self.due = False
            self._taking = True
            moment = self.next
            self.next += 1
        self._take(moment, in_program)

    def _take(self, moment, in_program):
        try:
            self.take(moment, in_program)
        finally:
            self._taken_at = time.monotonic()
            self._taking = False
            self._wake()
        self.taken += 1

    def _due_at(self):
        """When the clock's next moment is due, or what is to be prepared before the first; infinite while one is taken."""
        if self._taking:
            return float("inf")
        if not self.prepared:
            return self._started + self._ahead
        due = self._started + self.at[self.next]
        if self._taken_at is None:
            return due
        return max(due, self._taken_at + MIN_GAP_SHARE * (self.at[self.next] - self.at[self.next - 1]))

    def _run(self):
        try:
            self._keep_time()
        except Exception as error:  # noqa: BLE001
            complain(error)

    def _keep_time(self):
        while not self._stopped and not self.over:
            left = self._due_at() - time.monotonic()
            if left > 0:
                self._asleep.acquire(True, min(left, 60.0))
                continue
            if any(map(is_importing, FRAMEWORKS)):
                # The judged run was past its imports by now. They last several times as long while they are traced, and
                # what they allocate is not a leak: the clock stands still until the program itself goes on.
                paused = time.monotonic()
                self._asleep.acquire(True, IMPORT_POLL_S)
                self._started += time.monotonic() - paused
                continue
            if not self.prepared:
                self._prepare()
                continue
            self._offer()

    def _offer(self):
        """The next moment is due: for the program to take, or after some time for this thread."""
        self._due_since = time.monotonic()
        self.due = True
        patience = (OPERATOR_PATIENCE_S if self.operators else 0.0) + (self._step_patience if self._stepped else 0.0)
        deadline = self._due_since + patience
        while self.due and not self._stopped and time.monotonic() < deadline:
            self._asleep.acquire(True, 0.05)
        if self.due:
            self._take_due(False)
