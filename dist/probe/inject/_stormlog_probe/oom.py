"""Out-of-memory evidence: the request and its stack, written at the failure."""

import errno
import mmap
import os
import sys

from . import info, ring

#: A few files describe a loop that runs out of memory again and again.
MAX_FILES = 5
#: An error may be seen both when it is raised and at the end of the process. It is recognised by its address within
#: this time. Nanoseconds.
RAISED_AGAIN_NS = 1_000_000_000
ENDED_OF_IT_NS = 60_000_000_000
#: A snapshot is as large as the allocator's history, and the first contains the evidence.
MAX_SNAPSHOTS = 1
#: Address space that is released when none is left, so that the evidence can be written. It takes no memory.
RESERVE_BYTES = 4 << 20

MAX_FRAMES = 30
MAX_MESSAGE = 4000

#: Classes of out-of-memory errors, besides those that are known by name.
MEANT = (MemoryError, RuntimeError, OSError)

#: What allocators write: PyTorch's for CUDA and for the CPU (on Linux, on Windows), cuDNN and cuBLAS, C++, XLA.
_PHRASES = (
    "out of memory",
    "can't allocate memory",
    "cannot allocate memory",
    "not enough memory: you tried to allocate",
    "bad_alloc",
    "_status_alloc_failed",
    "resource_exhausted",
)
_NAMES = ("OutOfMemoryError", "ResourceExhaustedError")


def kind_of(error):
    """Kind of an out-of-memory error; None for any other exception."""
    if isinstance(error, MemoryError):
        return "memory-error"
    if isinstance(error, OSError):
        return "hook" if error.errno == errno.ENOMEM else None
    if not isinstance(error, Exception):
        return None
    named = type(error).__name__ in _NAMES
    if named or isinstance(error, RuntimeError):
        text = _message(error).lower()
        if named or any(phrase in text for phrase in _PHRASES):
            return "torch-exception" if "torch" in sys.modules and "resource" not in text else "hook"
    return None


def _message(error):
    """The arguments of the error. Its `str` may be code of the program, which must not run here."""
    return " ".join(part for part in error.args if type(part) is str)[:MAX_MESSAGE]


def requested_bytes(message):
    """The size in "Tried to allocate 2.00 GiB" and "you tried to allocate 4096 bytes"; None when the message has none."""
    words = message.lower().partition("tried to allocate ")[2].split()[:2]
    if len(words) < 2:
        return None
    unit = {"bytes": 0, "kib": 10, "mib": 20, "gib": 30, "tib": 40}.get(words[1].rstrip(".,;)"))
    try:
        return None if unit is None else int(float(words[0]) * (1 << unit))
    except ValueError:
        return None


def _frames(trace):
    """(file, line, function) from the outermost call to the failing one."""
    if trace is not None:
        found = []
        # The innermost matter; a runaway recursion has thousands.
        while trace is not None:
            found.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno, trace.tb_frame.f_code.co_name))
            trace = trace.tb_next
        return found[-MAX_FRAMES:]
    found = []
    frame = sys._getframe(1)
    while frame is not None and len(found) < MAX_FRAMES:
        if not frame.f_code.co_filename.startswith(os.path.dirname(__file__)):
            found.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return found[::-1]


def traceback_text(trace):
    """As Python prints it; without the lines of source when no memory is left to read them."""
    lines = []
    for file, line, function in _frames(trace):
        lines.append('  File "%s", line %d, in %s\n' % (file, line, function))
        try:
            import linecache

            code = linecache.getline(file, line).strip()
            if code:
                lines.append("    %s\n" % code)
        except Exception:  # noqa: BLE001
            pass
    return "".join(lines)


class Recorder:
    """Writes BASE.oom.<k> files for one process."""

    def __init__(self, base):
        self._base = base
        self._files = 0
        self._snapshots = 0
        self._last = (None, 0)
        self._reserve = None
        self._refill()

    def _refill(self):
        try:
            self._reserve = mmap.mmap(-1, RESERVE_BYTES)
        except Exception:  # noqa: BLE001
            self._reserve = None

    def _make_room(self):
        reserve, self._reserve = self._reserve, None
        if reserve is not None:
            reserve.close()

    def exception(self, error, trace, facts):
        """
        An out-of-memory error that is raised now (trace None) or that ended something. False when it was seen already.
        @param facts what else is known: step, device, bytes
        """
        identity, now = id(error), ring.monotonic_ns()
        if self._last[0] == identity and now - self._last[1] < (RAISED_AGAIN_NS if trace is None else ENDED_OF_IT_NS):
            return False
        self._last = (identity, now)
        self._make_room()
        message = _message(error)
        module = type(error).__module__
        self._write(
            kind_of(error),
            dict(
                facts,
                exception=type(error).__name__ if module == "builtins" else "%s.%s" % (module, type(error).__name__),
                message=message,
                requested_bytes=requested_bytes(message),
                traceback=traceback_text(trace),
            ),
        )
        self._refill()
        return True

    def observed(self, torch, device, asked, facts):
        """torch's caching allocator could not serve a request of `asked` bytes on CUDA device `device`; called within it."""
        self._make_room()
        name = "cuda:%d" % device
        self._write(
            "torch-observer",
            dict(
                facts,
                device=name,
                requested_bytes=asked,
                message="Tried to allocate %d bytes on %s" % (asked, name),
                traceback=traceback_text(None),
                snapshot=self._snapshot(torch),
            ),
        )
        self._refill()

    def _write(self, kind, values):
        if self._files < MAX_FILES:
            path = "%s.oom.%d" % (self._base, self._files)
            self._files += 1
            info.write(path, dict(values, time_ns=ring.monotonic_ns(), kind=kind))

    def _snapshot(self, torch):
        """File name of a snapshot of the allocator's blocks; None where there is none."""
        if self._snapshots >= MAX_SNAPSHOTS:
            return None
        path = "%s.oom.%d.pickle" % (self._base, self._files)
        try:
            import pickle

            self._snapshots += 1
            with open(path + ".new", "wb") as out:
                pickle.dump(torch.cuda.memory._snapshot(), out, protocol=4)
            os.replace(path + ".new", path)
            return os.path.basename(path)
        except Exception:  # noqa: BLE001 (out of memory, or a torch without snapshots)
            try:
                os.unlink(path + ".new")
            except OSError:
                pass
            return None
