"""The probe of this process: made once, dropped in a forked child, ended with the process."""

import os
import sys

from . import FRAMEWORKS, bytecode, complain, crash, heap, is_importing, pymalloc, ranks, ring, settings, steps, threads
from .facts import Facts
from .oom import Recorder
from .reading import Reading

DEFAULT_INTERVAL_MS = 20.0

# Runs that look for lines.
_DEPTHS = ("on", "light", "peak")
#: How often slow facts are read again: ranks that are set up late, reset peaks, a new backend. Nanoseconds.
FACTS_EVERY_NS = 500_000_000

_making = threads.allocate_lock()
#: The thread that makes the probe.
_making_thread = None
_process = None
#: Its fast path for a step of a lone optimizer: it runs within every step of the program.
_quick = None
#: The process id in which no probe could be made (a full disk, no directory or another user's). It is not tried again.
_hopeless = None
#: In a forked child: the identity of the parent.
_forked_from = None
_frameworks = {}
_torch_hooked = False


class NoProbe(Exception):
    """This process has no probe."""


def current():
    """This process's probe, made on first use. Raises NoProbe or OSError where its files cannot be."""
    global _process, _quick, _hopeless, _making_thread
    process = _process
    if process is not None:
        return process
    directory = settings.get("PROBE_DIR")
    if not directory or _hopeless == os.getpid():
        raise NoProbe("no directory for its files")
    if not settings.get("_is_main_interpreter", lambda: True)():
        raise NoProbe("the main interpreter of the process has the probe")
    # A second thread waits for the first. In the thread that makes the probe, a signal or an error meanwhile has no
    # probe.
    me = threads.get_ident()
    if _making_thread == me or not _making.acquire(True, threads.PATIENCE_S):
        raise NoProbe("the probe is being made")
    try:
        _making_thread = me
        if _process is None:
            try:
                made = Process(directory)
            except OSError:
                _hopeless = os.getpid()
                raise
            made.begin()
            _process, _quick = made, made.fast_path()
            _making_thread = None
            look_for_frameworks()
        return _process
    finally:
        _making_thread = None
        _making.release()


def imported(name, module):
    """A framework was imported, or torch's compiler. Hooks into them are set once; a fork inherits them."""
    global _torch_hooked
    if name == steps.COMPILER:
        steps.follow_compiler(module, _stepped_by)
        return
    if not _is_real(name, module):
        return
    _frameworks[name] = module
    if name == "torch" and not _torch_hooked:
        _torch_hooked = True
        _hook_torch(module)
    # A probe that another thread was making meanwhile may have begun with the framework, or just before it was known.
    current().framework(name, module)


def look_for_frameworks():
    """Finds frameworks that bypassed the probe's finder: imported by another finder, by hand, or before it was installed."""
    for name in FRAMEWORKS:
        module = sys.modules.get(name)
        if module is not None and name not in _frameworks and not is_importing(name):
            imported(name, module)


def _is_real(name, module):
    """A directory of the program may have the name of a framework."""
    return name != "torch" or "_C" in vars(module)


def _hook_torch(torch):
    if steps.hook(torch, _stepped_by) is None:
        complain(NoProbe("optimizer steps cannot be counted with this torch"))
    try:
        from . import torch_devices

        version = getattr(torch, "version", None)
        if getattr(version, "cuda", None) or getattr(version, "hip", None):
            torch_devices.report_resets(torch, _peaks_reset_by)
            # Touching CUDA now would initialise it, and break a fork later: torch calls this once the program has.
            torch.cuda._lazy_call(_cuda_initialised)
        from . import marks

        marks.hook(_marked)
    except Exception as error:  # noqa: BLE001
        complain(error)


def pause():
    """Before a fork: stops the probe's threads."""
    if _process is not None:
        _process.ticker.stop()
        # The child inherits the identity as it is now.
        _process.facts.identify()


def resume(child, on_end):
    """After a fork. True when the parent's probe continues. A child makes its own later, and calls `on_end()` where
    `multiprocessing` ends it.
    """
    global _process, _quick, _forked_from, _making, _making_thread
    if not child:
        if _process is None:
            return False
        threads.later(_process.ticker.start)
        return True
    _making, _making_thread = threads.allocate_lock(), None
    threads.forget_pending()
    if _process is not None:
        _forked_from = _process.facts.identity
        _process = _quick = None
        crash.follow_multiprocessing(on_end)
    return False


def end():
    """The process ends in order."""
    if _process is not None:
        _process.end()


def explicit_step(number):
    """`stormlog_gate.step()`."""
    _with_process(lambda process: process.steps.explicit(number))


def enter_phase(name):
    """`stormlog_gate.phase`: the argument of `leave_phase`; None where the phase is not kept."""
    try:
        return (_process or current()).enter_phase(name)
    except NoProbe:
        return None
    except Exception as error:  # noqa: BLE001
        complain(error)
        return None


def leave_phase(entered):
    # In a child that was forked within the phase, the phase belongs to the parent and continues there.
    if _process is not None and entered[-1] is _process.facts.phases:
        _with_process(lambda process: process.leave_phase(entered))


def _stepped_by(optimizer, source):
    if _quick is not None and _quick(optimizer):
        return
    try:
        process = _process or current()
        process.steps.optimizer(optimizer, source)
        process.optimizer_stepped(optimizer)
    except NoProbe:
        pass
    except Exception as error:  # noqa: BLE001
        complain(error)


def _peaks_reset_by(who):
    _with_process(lambda process: process.peaks_reset_by(who))


def _marked(moments):
    _with_process(lambda process: process.facts.mark(moments))


def _cuda_initialised():
    began = ring.monotonic_ns()

    # An exception would reach the program as torch's DeferredCudaCallError.
    def observe(process):
        process.facts.mark({"mark.context": began})
        process.facts.save()
        attach = getattr(_frameworks["torch"]._C, "_cuda_attach_out_of_memory_observer", None)
        if attach is not None:
            attach(_out_of_memory)

    _with_process(observe)


def _out_of_memory(device, asked, device_total, device_free):
    """torch's observer: an exception would be raised within the allocator."""
    _with_process(lambda process: process.out_of_memory(device, asked, device_total, device_free))


def _with_process(action):
    try:
        action(_process or current())
    except NoProbe:
        pass
    except Exception as error:  # noqa: BLE001
        complain(error)


class Process:
    """The probe of one process image, with its files."""

    def __init__(self, directory):
        self.base, self._ring = ring.create(directory)
        self.steps = steps.Steps(self._stepped)
        self._reading = Reading(self._ring, self.steps)
        identity = ranks.Identity(directory, _forked_from)
        self.facts = Facts(self.base, self._ring, identity, self._reading)
        self._recorder = Recorder(self.base)
        self.ticker = threads.Ticker(_interval_s(), self._tick)
        self._next_facts = 0
        self._bytecode_kept = False
        self._attribution = None

    def begin(self):
        """Starts the readings."""
        heap.prepare()
        pymalloc.prepare()
        for name, module in list(_frameworks.items()):
            self.framework(name, module, save=False)
        self.facts.save()
        self._ring.state(ring.STATE_ATTACHED)
        crash.watch(current)
        self._attribute("torch" in _frameworks)
        self._reading.now(ring.TIMER)
        self.ticker.start()

    def framework(self, name, module, save=True):
        """A framework was imported. Calls for one that is known change nothing."""
        if self.facts.knows(name):
            return
        crash.look_for_threading()
        self._reading.add(name, module)
        self.facts.framework(name, module)
        if save:
            self.facts.save()
            self._attribute("torch" in _frameworks)

    def _tick(self):
        quiet = self._reading.tick()
        now = ring.monotonic_ns()
        if not self._bytecode_kept:
            # In the probe's own thread it delays nothing.
            self._bytecode_kept = True
            bytecode.keep()
        if now >= self._next_facts:
            self._next_facts = now + FACTS_EVERY_NS
            look_for_frameworks()
            self.facts.save()
        if self._attribution is not None and self._attribution.on_tick():
            # The step file is read as often as it can be.
            return False
        return quiet

    def fast_path(self):
        """A function that counts an optimizer's step and returns whether that is all it needs; None under attribution."""
        if settings.get("ATTRIBUTE") in _DEPTHS:
            return None
        steps, reading, stepped, now = self.steps, self._reading, self._ring.stepped, ring.monotonic_ns

        def step_of(optimizer):
            if id(optimizer) != steps.lone:
                return False
            steps.count = count = steps.count + 1
            stepped(count)
            if now() >= reading.next_at_step:
                _read_at_step(reading)
            return True

        return step_of

    def _stepped(self, step):
        self._ring.step(step)
        now = ring.monotonic_ns()
        if now >= self._reading.next_at_step:
            self._reading.at_step(now)
            threads.start_pending()
        if self.facts.steps_from != self.steps.source:
            self.facts.steps_from = self.steps.source
            self.facts.mark({"mark.first_step": now})
            self.facts.save()
        if self._attribution is not None:
            self._attribution.on_step(step)

    def optimizer_stepped(self, optimizer):
        if self._attribution is not None:
            self._attribution.on_optimizer(optimizer)

    def enter_phase(self, name):
        entered = self.facts.phases.begin(name)
        if entered is not None:
            self._reading.at_phase()
            self._report_phase()
            if self._attribution is not None:
                self._attribution.on_phase(entered[1])
        return entered

    def leave_phase(self, entered):
        if self._attribution is not None:
            self._attribution.on_phase(None)
        self._reading.at_phase()
        self.facts.phases.end(entered)
        self._report_phase()

    def _report_phase(self):
        if _interval_s() > 0:
            # The probe's thread writes it at its next tick: early enough for a killed program, and the program does not
            # wait.
            self._next_facts = 0
        else:
            self.facts.save()

    def _attribute(self, has_torch):
        if settings.get("ATTRIBUTE") in _DEPTHS:
            from . import attribute

            self._attribution = attribute
            self._ring.flag(ring.FLAG_ATTRIBUTING)
            attribute.start(self.base, has_torch)

    def peaks_reset_by(self, who):
        """Just before the counters are reset: reads the peaks a last time."""
        self._reading.now(ring.EXPLICIT)
        self._ring.flag(ring.FLAG_PEAKS_RESET)
        self.facts.peaks_reset_by = who

    def exception(self, error, trace):
        """An out-of-memory error, raised now (trace None) or the end of something."""
        values = dict(rank=self.facts.rank, step=self.steps.count if self.steps.source else None)
        pair = heap.read()
        if pair is not None:
            values.update(device="host", allocated_bytes=pair[0], reserved_bytes=pair[1])
        if self._recorder.exception(error, trace, values):
            self._reading.now(ring.OOM)

    def out_of_memory(self, device, asked, device_total, device_free):
        """CUDA's allocator could not serve a request of `asked` bytes. It makes this call while it handles the request."""
        values = dict(rank=self.facts.rank, step=self.steps.count if self.steps.source else None)
        values.update(free_bytes=device_free, total_bytes=device_total)
        for kind, index, read in self._reading.now(ring.OOM):
            if kind == ring.CUDA and index == device:
                values.update(allocated_bytes=read[0], reserved_bytes=read[1])
        self._recorder.observed(_frameworks["torch"], device, asked, values)

    def end(self):
        """The last reading, and the mark that nothing is missing after it."""
        for part in (self.ticker.stop, self._reading.at_end, self.facts.save):
            try:
                part()
            except Exception as error:  # noqa: BLE001
                complain(error)
        self._ring.state(ring.STATE_ENDED)


def _read_at_step(reading):
    try:
        reading.at_step(ring.monotonic_ns())
        threads.start_pending()
    except Exception as error:  # noqa: BLE001
        complain(error)


def _interval_s():
    """0 = no thread: readings are made at steps only."""
    try:
        return max(0.0, float(settings.get("PROBE_MS") or DEFAULT_INTERVAL_MS)) / 1000
    except ValueError:
        return DEFAULT_INTERVAL_MS / 1000
