"""The ring file: fixed records in a memory-mapped file that outlives the process. Layout: docs/probe.md."""

import functools
import mmap
import os
import struct
import sys
import time

from . import threads

MAGIC = b"SLGPRB\x01\n"
HEADER_BYTES = 256
RECORD_BYTES = 96
CAPACITY = 4096

NO_DEVICE, HEAP, CUDA, MPS, XPU, TENSORFLOW, JAX = 0, 1, 2, 3, 4, 5, 6
#: Index of a HEAP record that counts CPython's own allocator; 0 is the C heap.
PYTHON = 1
#: Added to a device's index: a record of its allocator's pools, the bytes that it cannot release and those of graphs.
POOLS = 256
TIMER, STEP, OOM, END, EXPLICIT = 1, 2, 3, 4, 5

FLAG_HEAP, FLAG_FRAMEWORK, FLAG_DEVICE, FLAG_STEPS, FLAG_PEAKS_RESET, FLAG_ATTRIBUTING = 1, 2, 4, 8, 16, 32
STATE_ATTACHED, STATE_ENDED = 1, 2

_FIXED = struct.Struct("<8sIIIiQQIIiiiiq")
_RECORD = struct.Struct("<QQHHHHQQQQQQQQQ")
_RANKS = struct.Struct("<iiii")
_U64 = struct.Struct("<Q")

HEAD_AT, FLAGS_AT, RANKS_AT, STEP_AT = 24, 40, 48, 72
#: The same offsets as indices of `_words`, whose stores are atomic (eight bytes); `pack_into` first zeroes the bytes it
#: fills.
_MAGIC, _HEAD, _FLAGS_AND_STATE, _RANK, _WORLD, _STEP = 0, HEAD_AT // 8, FLAGS_AT // 8, RANKS_AT // 8, RANKS_AT // 8 + 1, STEP_AT // 8

#: A writer that waits longer than this for another leaves its record out. Seconds.
_MAX_WAIT_S = 0.05

#: CLOCK_MONOTONIC on Linux, the clock of the native sampler.
monotonic_ns = time.monotonic_ns

_get_ident = threads.get_ident

#: Mappings are never closed, see `_map`.
_kept = []


def create(directory):
    """A new ring in `directory` for this process: (base path, ring). Raises OSError when it cannot be had."""
    pid = os.getpid()
    for number in range(1000):
        base = os.path.join(directory, "%d.%d" % (pid, number))
        try:
            # exec keeps the pid, and pids are reused: take the first unused number.
            handle = os.open(base + ".probe", os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
        except FileExistsError:
            continue
        low = []
        try:
            if handle < 3:
                handle = _above_standard(handle, low)
            return base, Ring(handle, pid)
        except BaseException:
            os.unlink(base + ".probe")
            raise
        finally:
            for one in low:
                os.close(one)
            os.close(handle)
    raise OSError("no free name for a ring of process %d" % pid)


def _above_standard(handle, low):
    """
    The program runs with standard descriptors closed and may write to their numbers. Returns `handle` under a number above them.
    The closed ones are in `low` and lead nowhere, so that a mapping made now does not take one of them for its own descriptor.
    """
    nowhere = os.open(os.devnull, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
    while handle < 3:
        low.append(handle)
        handle = os.dup(handle)
    while nowhere < 3:
        low.append(nowhere)
        nowhere = os.dup(nowhere)
    for one in low:
        os.dup2(nowhere, one, False)
    os.close(nowhere)
    return handle


def ranks_in(path):
    """(rank, local rank, world size, role) of the ring at `path`; None when it is none. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        header = os.read(handle, HEADER_BYTES)
    finally:
        os.close(handle)
    return _RANKS.unpack_from(header, RANKS_AT) if len(header) == HEADER_BYTES and header[:8] == MAGIC else None


def _take_blocks(handle, size):
    """A hole in the file would be filled on first touch, and on a full disk that is a SIGBUS: take the blocks now."""
    try:
        os.posix_fallocate(handle, 0, size)
    except (AttributeError, OSError) as error:
        import errno

        if getattr(error, "errno", errno.EOPNOTSUPP) not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise
        left = size
        while left > 0:
            left -= os.write(handle, b"\0" * min(left, 1 << 16))


def _map(handle, size):
    """
    A shared mapping. Before 3.13 it keeps a descriptor of its own, which a program may close (daemons close all) and give to a
    file of its own: such a mapping is never taken down, since that would close the descriptor.
    """
    if sys.version_info >= (3, 13):
        return mmap.mmap(handle, size, trackfd=False)
    made = mmap.mmap(handle, size)
    _kept.append(made)
    try:
        import ctypes

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    except Exception:  # noqa: BLE001 (kept until the interpreter ends, then)
        pass
    return made


class Ring:
    """Any number of readers. Writing is a copy into the mapping: no system call, nothing to fail."""

    def __init__(self, handle, pid):
        size = HEADER_BYTES + CAPACITY * RECORD_BYTES
        _take_blocks(handle, size)
        self._map = _map(handle, size)
        # The header as 64-bit numbers. Each is written by one aligned store, so a reader sees the old or the new one. A
        # reader that saw a head fall would take the ring for another file.
        self._words = memoryview(self._map)[:HEADER_BYTES].cast("Q")
        self._head = 0
        self._flags = 0
        self._state = 0
        self._writing = threads.allocate_lock()
        #: Writes the number of a step after the first `step`: a single call, since it runs within every step of the
        #: program.
        self.stepped = functools.partial(self._words.__setitem__, _STEP)
        self._writer = 0
        self.pid = pid
        _FIXED.pack_into(
            self._map, 0, b"", HEADER_BYTES, RECORD_BYTES, CAPACITY, pid, 0, monotonic_ns(), 0, 0, -1, -1, -1, 0, os.getppid()
        )
        # Last: a reader takes the file for a ring from now on.
        self._words[_MAGIC] = int.from_bytes(MAGIC, "little")

    def put_heap(self, time_ns, reason, allocated, reserved, step):
        """The record that is written most often. `step` is None before the first, `allocated` where it is unknown."""
        known = 2 if allocated is None else 3
        if step is None:
            self._write(time_ns, HEAP, 0, known, reason, allocated or 0, reserved, 0, 0, 0, 0, 0, 0)
        else:
            self._write(time_ns, HEAP, 0, 128 + known, reason, allocated or 0, reserved, 0, 0, 0, 0, 0, step)

    def put(self, kind, index, reason, values):
        """One record; `values` are up to eight integers, None where unknown."""
        words = [0] * 8
        valid = 0
        for at, value in enumerate(values):
            if value is not None and 0 <= value < 1 << 64:
                words[at] = int(value)
                valid |= 1 << at
        self._write(monotonic_ns(), kind, index, valid, reason, *words)

    def _write(self, *values):
        writing = self._writing
        if not writing.acquire(False) and not self._wait():
            return
        try:
            self._writer = _get_ident()
            head = self._head
            at = HEADER_BYTES + (head & (CAPACITY - 1)) * RECORD_BYTES
            # A reader takes a record whose two numbers agree; while it is being written they do not.
            _U64.pack_into(self._map, at + RECORD_BYTES - 8, 0)
            head += 1
            _RECORD.pack_into(self._map, at, head, *values, head)
            self._head = head
            self._words[_HEAD] = head
        finally:
            self._writer = 0
            writing.release()

    def _wait(self):
        """For another writer. A signal handler that makes a step while its own thread writes must not wait."""
        return self._writer != _get_ident() and self._writing.acquire(True, _MAX_WAIT_S)

    def flag(self, flag):
        if not self._flags & flag:
            self._flags |= flag
            self._put_state()

    def state(self, state):
        self._state = state
        self._put_state()

    def _put_state(self):
        self._words[_FLAGS_AND_STATE] = self._state << 32 | self._flags

    def ranks(self, rank, local_rank, world_size, role):
        own, world = struct.unpack("<QQ", _RANKS.pack(rank, local_rank, world_size, role))
        # In this order: a rank is never seen without the size of its world.
        self._words[_WORLD] = world
        self._words[_RANK] = own

    def step(self, step):
        self._words[_STEP] = step
        self.flag(FLAG_STEPS)
