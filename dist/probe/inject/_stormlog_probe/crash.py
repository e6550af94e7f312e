"""
Sees out-of-memory errors that ended the interpreter, a process of `multiprocessing` or a thread, and on Python 3.12 and later
also errors that the program swallows. Before 3.12 a swallowed MemoryError, or one of PyTorch's CPU allocator, cannot be seen
without slowing every call of the program.
"""

import functools
import sys

from . import complain, oom

#: Of the six tools that Python lets watch a program, those that no standard tool claims.
_TOOLS = (4, 3)
_NAME = "stormlog-gate"

#: The id of the tool that watches; None while none does.
_tool = None
_previous_thread_hook = None
#: Returns the probe of the process, which records the errors.
_current = None


def saw(error, current, raised=False):
    """An exception that ended something, or is being raised. `current()` is the probe that records it when it is about memory."""
    try:
        if error is not None and oom.kind_of(error) is not None:
            current().exception(error, None if raised else error.__traceback__)
    except Exception:  # noqa: BLE001 (out of memory again, most likely)
        pass


def watch(current):
    """From now on, as far as this Python can. Once per process image; a fork inherits it."""
    global _current
    if _current is None:
        _current = current
        if not _watch_raises():
            _watch_threads()


def look_for_threading():
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
    saw(args.exc_value, _current)
    _previous_thread_hook(args)


def _watch_raises():
    """PEP 669: errors as they are raised. Only raising costs (about 0.1 us each): no line, call or loop is instrumented."""
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        return False
    use = monitoring.use_tool_id
    if not _take_tool(monitoring, use):
        return False

    @functools.wraps(use)
    def use_tool_id(*args):
        if _tool is None or args[:1] != (_tool,):
            return use(*args)
        try:
            _free_tool(monitoring)
            return use(*args)
        finally:
            _take_tool(monitoring, use)

    monitoring.use_tool_id = use_tool_id
    return True


def _take_tool(monitoring, use):
    global _tool
    for tool in _TOOLS:
        try:
            if monitoring.get_tool(tool) is None:
                use(tool, _NAME)
                monitoring.register_callback(tool, monitoring.events.RAISE, _raised)
                monitoring.set_events(tool, monitoring.events.RAISE)
                _tool = tool
                return True
        except Exception as error:  # noqa: BLE001
            complain(error)
    return False


def _free_tool(monitoring):
    """The program asks for the tool's id."""
    global _tool
    tool, _tool = _tool, None
    try:
        if monitoring.get_tool(tool) == _NAME:
            monitoring.set_events(tool, 0)
            monitoring.register_callback(tool, monitoring.events.RAISE, None)
            monitoring.free_tool_id(tool)
    except Exception as error:  # noqa: BLE001
        complain(error)


def _raised(_code, _offset, error):
    if isinstance(error, oom.MEANT):
        saw(error, _current, raised=True)


def follow_multiprocessing(on_end):
    """
    In a forked child, calls `on_end()`: processes of `multiprocessing` skip the interpreter's end, but run their own finalizers
    while the error that ends them can still be read.
    """
    util = sys.modules.get("multiprocessing.util")
    if util is None:
        return

    def ended():
        error = sys.exc_info()[1]
        if isinstance(error, Exception):
            saw(error, _current)
        on_end()

    def register(_key):
        util.Finalize(None, ended, exitpriority=-100)

    _followed.append(_Key())
    util.register_after_fork(_followed[-1], register)


class _Key:
    """`register_after_fork` keeps its objects weakly."""


_followed = []
