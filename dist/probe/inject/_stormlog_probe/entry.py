"""What sitecustomize calls. Each function loads what it needs."""

import sys
import time

from . import complain, threads
from . import settings as gate


def lasted():
    """The process lives on: read its memory."""
    _attempt(lambda: _process().current())


def imported(module):
    """A framework was imported."""
    _attempt(lambda: _process().imported(module.__name__, module))


def before_fork():
    """Stops the probe's threads: Python warns about threads at a fork, and a lock that one holds stays locked in the child."""
    # Importing may collect garbage, and so start a thread: first of all.
    _attempt(threads.before_fork)
    _attempt(_stop_waiting)
    # A program that forks again and again would never reach its first reading.
    if not _begun() and time.monotonic() >= gate["due"]:
        lasted()
    if _begun():
        _attempt(lambda: _process().pause())


def after_fork(child):
    """The probe continues in the parent. A child makes its own once it has lived long enough or has something to record."""
    if child:
        threads.forget_pending()
        # A child, too, is measured only after it has lived long enough.
        gate["alive"], gate["due"] = gate["allocate_lock"](), time.monotonic() + threads.LASTING_S
        gate.pop("awake", None)
    if _begun() and _attempt(lambda: _process().resume(child, ended)):
        return
    # In the child the hooks run last of all: a thread may start at once.
    _attempt(_begin_waiting if child else lambda: threads.later(_begin_waiting))


def ended():
    """The interpreter ends, perhaps by an out-of-memory error."""
    # A thread that is stopped within an import would hold the import's lock for ever.
    _attempt(_stop_waiting)
    error = getattr(sys, "last_value", None)
    if error is not None:
        from . import crash

        crash.saw(error, lambda: _process().current())
    if _begun():
        _attempt(lambda: _process().end())


def _stop_waiting():
    wake, alive = gate["wake"], gate["alive"]
    if alive.locked():
        if wake.locked():
            wake.release()
        if alive.acquire(True, threads.PATIENCE_S):
            alive.release()
        if sys.version_info >= (3, 12):
            threads.until_gone(gate["thread"])


def _begin_waiting():
    gate["wake"].acquire(False)
    if gate["alive"].acquire(False):
        gate["launch"]()


def _begun():
    return "_stormlog_probe.process" in sys.modules


def _process():
    from . import process

    return process


def _attempt(action):
    try:
        return action()
    except Exception as error:  # noqa: BLE001
        complain(error)
        return None
