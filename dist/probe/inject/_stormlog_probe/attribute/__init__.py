"""Attribution: writes down, at given moments, what lives in this process and which lines retain it.

Only in a run that looks for a line (STORMLOG_GATE_ATTRIBUTE=on, or light: Python's allocations alone, or peak: what is live
at the peak). A judged run never loads this. The probe calls `start` when the process begins and again once torch is
imported, `on_step` after every step, and `on_tick` in its own thread. None ever raises.

Per moment k it leaves, next to the probe's own files: BASE.lines.<k>.tracemalloc.json (Python's memory), with torch
BASE.lines.<k>.torch-cpu.json (tensors of the CPU and of devices without a history, autograd graphs), and with a device that
records its history BASE.snapshot.<k>.pickle.
"""

import os
import sys

from .attribution import Attribution, complain
from .schedule import parse

_attribution = None


def start(base_path, has_torch):
    """Begin, or take note that torch was imported. `base_path`: path of the process's files without their ending."""
    global _attribution
    try:
        wanted = parse(os.environ.get("STORMLOG_GATE_ATTRIBUTE_AT"))
        if wanted is None:
            return
        if _attribution is None:
            _attribution = _of(os.environ.get("STORMLOG_GATE_ATTRIBUTE"), base_path, wanted)
            _attribution.start()
        elif _attribution.pid != os.getpid():
            # A forked child has its own files and its own clock, and starts from the parent's traces.
            _attribution.restart(base_path, wanted)
        if has_torch:
            _attribution.with_torch(sys.modules["torch"])
    except Exception as error:  # noqa: BLE001 (nothing may reach the program)
        complain(error)


def _of(depth, base_path, wanted):
    if depth == "peak":
        from .peak import PeakMemory

        return PeakMemory(base_path, wanted)
    return Attribution(base_path, wanted, depth == "light")


def on_step(step):
    """The end of step number `step` of this process."""
    _call("step", step)


def on_tick():
    """In the probe's own thread. True when steps are taken from the step file."""
    return bool(_call("tick"))


def on_optimizer(optimizer):
    """An optimizer of this process has stepped."""
    _call("optimizer", optimizer)


def on_phase(name):
    """The program enters a phase of its own; None: it leaves the innermost."""
    _call("phase", name)


def _call(method, *args):
    try:
        return None if _attribution is None else getattr(_attribution, method)(*args)
    except Exception as error:  # noqa: BLE001
        complain(error)
        return None
