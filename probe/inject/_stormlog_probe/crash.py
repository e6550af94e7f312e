"""
Sees out-of-memory errors wherever Python lets it: what the interpreter or a process of `multiprocessing` died of, what a thread
died of, and on Python 3.12 and later also errors that the program swallows. Before 3.12 a swallowed MemoryError, or one of
PyTorch's CPU allocator, leaves no trace that could be read without slowing every call of the program.
"""

import sys

from . import complain, oom

#: Of the six tools that Python lets watch a program, those that no standard tool claims.
_TOOLS = (4, 3)

_previous_thread_hook = None
_watching = False


def saw(error, raised=False):
    """An exception that ended something, or one being raised right now: evidence when it is about memory."""
    try:
        if error is not None and oom.kind_of(error) is not None:
            from . import process

            process.current().exception(error, None if raised else error.__traceback__)
    except Exception:  # noqa: BLE001 (out of memory again, most likely)
        pass


def watch():
    """From now on, as far as this Python can. Once per process image; a fork inherits it."""
    global _watching
    if not _watching:
        _watching = True
        if not _watch_raises():
            _watch_threads()


def threading_came():
    """`threading` may have been imported since."""
    if not hasattr(sys, "monitoring"):
        _watch_threads()


def _watch_threads():
    global _previous_thread_hook
    threading = sys.modules.get("threading")
    if _previous_thread_hook is None and hasattr(threading, "excepthook"):
        _previous_thread_hook = threading.excepthook
        threading.excepthook = _thread_hook


def _thread_hook(args):
    saw(args.exc_value)
    _previous_thread_hook(args)


def _watch_raises():
    """
    PEP 669: errors as they are raised. Only raising costs (about 0.1 us each): no line, call or loop is instrumented.
    """
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        return False
    for tool in _TOOLS:
        if monitoring.get_tool(tool) is None:
            try:
                monitoring.use_tool_id(tool, "stormlog-gate")
                monitoring.register_callback(tool, monitoring.events.RAISE, _raised)
                monitoring.set_events(tool, monitoring.events.RAISE)
                return True
            except Exception as error:  # noqa: BLE001
                complain(error)
    return False


def _raised(_code, _offset, error):
    if isinstance(error, oom.MEANT):
        saw(error, raised=True)


def follow_multiprocessing():
    """
    In a forked child: processes of `multiprocessing` end without the interpreter's end, but run their own finalizers, with the
    error they die of at hand.
    """
    util = sys.modules.get("multiprocessing.util")
    if util is None:
        return

    def ended():
        from . import entry

        error = sys.exc_info()[1]
        if isinstance(error, Exception):
            saw(error)
        entry.ended()

    def register(_key):
        util.Finalize(None, ended, exitpriority=-100)

    _followed.append(_Key())
    util.register_after_fork(_followed[-1], register)


class _Key:
    """`register_after_fork` keeps its objects weakly."""


_followed = []
