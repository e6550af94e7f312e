"""The probe's one thread. It must not be alive at a fork: Python 3.12 and later warn about that."""

import _thread
import gc
import os
import sys

from . import complain, settings

# Python's own functions, also where gevent has replaced them since.
allocate_lock = settings.get("allocate_lock", _thread.allocate_lock)
get_ident = settings.get("get_ident", _thread.get_ident)

#: A process that ends sooner is not measured. Seconds.
LASTING_S = 0.1

#: A thread that is asked to end does so within microseconds. This is for a machine that swaps. Seconds.
PATIENCE_S = 2.0
#: Checks whether a thread that has ended is gone for the kernel, too: some 10 ms in all.
MAX_LOOKS = 100

#: After CALM_AFTER ticks without a move the interval grows, up to this many times.
CALMEST = 5
CALM_AFTER = 10
#: Before this many ticks the interval does not grow: a run of a second needs 24 readings for its growth to be judged.
EARLY_TICKS = 48

#: Directory of the probe's code.
_DIRECTORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_pending = []
_listening = False
_call_back = None
#: The frame that called os.fork, and its instruction.
_forking = None


def start_with_full_stack(function, *args):
    """
    A thread that `threading` does not list, with the program's stack size: a collection in it may run the program's
    destructors. It blocks signals as the probe's other threads do, since the program's own may want to wait for them.
    """
    import _signal

    old = _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals() - {4, 7, 8, 11})
    try:
        settings.get("start_new_thread", _thread.start_new_thread)(function, args)
    finally:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, old)


def until_gone(thread):
    """Wait until the kernel no longer lists this thread, some microseconds after its last line."""
    path = "/proc/self/task/%d" % thread
    never = allocate_lock()
    never.acquire()
    for _ in range(MAX_LOOKS):
        if not os.path.exists(path):
            return
        never.acquire(True, 0.00005)


def before_fork():
    """
    Have the interpreter call back when it is in the program again: from 3.12 on Python counts the threads after the hooks for forks
    have run. The hook that asks for it is the last one of those that there are at the first fork, and is not a Python function:
    within one the call would come too early, and from 3.13 on a call that asks for another loses it until the program blocks.
    """
    global _call_back, _forking
    if sys.version_info < (3, 12):
        return
    try:
        import ctypes
        import functools
    except ImportError:
        return
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_DIRECTORY):
        frame = frame.f_back
    _forking = None if frame is None else (frame, frame.f_lasti)
    if _call_back is None:
        _call_back = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(_called_back)
        ctypes.pythonapi.Py_AddPendingCall.argtypes = (type(_call_back), ctypes.c_void_p)
        os.register_at_fork(after_in_parent=functools.partial(ctypes.pythonapi.Py_AddPendingCall, _call_back, None))


def later(start):
    """
    Start a thread again after a fork, in the parent: once the program runs again; where the interpreter cannot be asked for that, at
    the next garbage collection or step.
    """
    global _listening
    if sys.version_info < (3, 12):
        start()
        return
    if start not in _pending:
        _pending.append(start)
    if not _listening:
        _listening = True
        gc.callbacks.append(_collected)


def _called_back(_nothing):
    """In the main thread, between two instructions; an error would be raised in the program."""
    global _forking
    try:
        if _within_hooks(sys._getframe(1)):
            import ctypes

            ctypes.pythonapi.Py_AddPendingCall(_call_back, None)
        else:
            _forking = None
            start_pending()
    except Exception as error:  # noqa: BLE001
        complain(error)
    return 0


def _within_hooks(frame):
    """Whether the running code was called by os.fork: it is a hook of other code."""
    if _forking is None or frame is _forking[0]:
        return False
    while frame is not None and frame is not _forking[0]:
        frame = frame.f_back
    return frame is not None and frame.f_lasti == _forking[1]


def start_pending():
    while _pending:
        try:
            _pending.pop()()
        except Exception as error:  # noqa: BLE001 (no new thread while the interpreter ends)
            complain(error)


def _collected(_phase, _info):
    if _pending:
        start_pending()


def forget_pending():
    """In a forked child: the threads that the parent was to start again are not started here."""
    del _pending[:]


class Ticker:
    """
    Calls `tick` every `interval_s` seconds from its own thread, until stopped. While it returns true the interval grows, so that
    an idle process is not kept awake.
    """

    def __init__(self, interval_s, tick):
        self._interval = interval_s
        self._tick = tick
        self._wake = None
        self._alive = None
        self._thread = 0

    def start(self):
        if self._wake is not None or self._interval <= 0:
            return
        self._wake, self._alive = allocate_lock(), allocate_lock()
        self._wake.acquire()
        self._alive.acquire()
        try:
            settings["start"](self._run, self._wake, self._alive)
        except BaseException:
            self._wake = None
            raise

    def stop(self):
        """Returns when the thread is gone."""
        wake, alive = self._wake, self._alive
        if wake is None:
            return
        self._wake = None
        wake.release()
        if alive.acquire(True, PATIENCE_S) and sys.version_info >= (3, 12):
            until_gone(self._thread)

    def _run(self, wake, alive):
        try:
            self._thread = _thread.get_native_id()
            calm = CALM_AFTER - EARLY_TICKS
            while not wake.acquire(True, self._interval * min(CALMEST, max(1, calm - CALM_AFTER))):
                calm = calm + 1 if self._tick() else min(calm + 1, 0)
        except Exception as error:  # noqa: BLE001
            complain(error)
        finally:
            alive.release()

