"""What sitecustomize calls, each loading what it needs."""

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
    """No thread of ours is alive in a fork: Python warns programs of that, and a lock it held would stay held in the child."""
    _attempt(_stop_waiting)
    # Who forks again and again would be for ever before its first reading.
    if not _begun() and time.monotonic() >= gate["due"]:
        lasted()
    if _begun():
        _attempt(lambda: _process().pause())


def after_fork(child):
    """The probe runs on in the parent; a child has its own once it has lasted or has something to tell."""
    if child:
        threads.forget_pending()
        # A process of its own: it has to last, too.
        gate["alive"], gate["due"] = gate["allocate_lock"](), time.monotonic() + threads.LASTING_S
        gate.pop("awake", None)
    if _begun() and _attempt(lambda: _process().resume(child)):
        return
    # In the child the hooks run last of all: a thread may start at once.
    _attempt(_begin_waiting if child else lambda: threads.later(_begin_waiting))


def ended():
    """The interpreter ends: of memory, perhaps."""
    # In the middle of an import it would keep the import's lock for ever.
    _attempt(_stop_waiting)
    error = getattr(sys, "last_value", None)
    if error is not None:
        from . import crash

        crash.saw(error)
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
