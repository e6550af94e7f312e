"""The C heap of this process: its library's own count of what is in use and what it holds. The library is glibc, jemalloc, or
mimalloc, which counts only what it holds.

Memory that a caching layer above malloc manages counts as in use from the moment that layer took it; layers that take it from
the kernel (CPython's arenas for objects up to 512 bytes) are not in it. Blocks in a thread's cache (tcache, 7 of each size)
count as in use: this, some hundred bytes to some kilobytes, is the noise of the series. A reading of glibc walks the free lists of
every arena, so its cost grows with fragmentation; the caller keeps to a budget. One of jemalloc 5.3 took 8 us, with the arenas of
64 threads 44 us, and one of mimalloc 2.0 took 2 us.
"""

NOT_READ_YET = "not read yet"

_TRY_BYTES = 1 << 14
#: More than jemalloc's caches of threads keep.
_JEMALLOC_TRY_BYTES = 1 << 16
_TRIES = 3

_reader = None
_how = "none:" + NOT_READ_YET


def read():
    """(bytes in use or None, bytes held from the system), or None where the library of malloc does not report them."""
    return None if _reader is None else _reader()


def how():
    """For the info file: "mallinfo2", "mallinfo", "jemalloc", "mimalloc", or "none:" and the reason."""
    return _how


def prepare():
    """Find the function of malloc's library; once, and not at the start of a process, since it loads ctypes."""
    global _reader, _how
    if _how != "none:" + NOT_READ_YET:
        return
    try:
        import ctypes

        # PyDLL keeps the interpreter's lock: the call is short, and asking for the lock again may take a switch
        # interval.
        library = ctypes.PyDLL(None)
        library.malloc.restype = ctypes.c_void_p
        library.malloc.argtypes = (ctypes.c_size_t,)
        library.free.restype = None
        library.free.argtypes = (ctypes.c_void_p,)
        for symbol, name, make in _SOURCES:
            reader = make(ctypes, library, getattr(library, symbol)) if hasattr(library, symbol) else None
            if reader is not None:
                _reader, _how = reader, name
                return
        _how = "none:malloc is not that of glibc, jemalloc or mimalloc, or is built without statistics"
    except Exception as error:  # noqa: BLE001 (a Python without ctypes)
        _how = "none:%s: %s" % (type(error).__name__, error)


def _fields(ctypes, kind):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    return type("mallinfo", (ctypes.Structure,), {"_fields_": [(name, kind) for name in names]})


def _mallinfo2(ctypes, library, call):
    call.restype = _fields(ctypes, ctypes.c_size_t)
    call.argtypes = ()

    def read_mallinfo2():
        info = call()
        return info.uordblks + info.hblkhd, info.arena + info.hblkhd

    return read_mallinfo2 if _counts(library, read_mallinfo2, _TRY_BYTES) else None


def _mallinfo(ctypes, library, call):
    """Before glibc 2.33 the fields are 32 bits wide: what moved between two readings is taken to be less than 2 GiB."""
    call.restype = _fields(ctypes, ctypes.c_int)
    call.argtypes = ()
    whole = {}

    def unwrapped(name, value):
        before = whole.get(name, 0)
        moved = (value - before) & 0xFFFFFFFF
        if name in whole and moved >= 1 << 31:
            moved -= 1 << 32
        whole[name] = before + moved
        return whole[name]

    def read_mallinfo():
        info = call()
        mapped = unwrapped("hblkhd", info.hblkhd)
        return unwrapped("uordblks", info.uordblks) + mapped, unwrapped("arena", info.arena) + mapped

    return read_mallinfo if _counts(library, read_mallinfo, _TRY_BYTES) else None


def _jemalloc(ctypes, library, call):
    call.restype = ctypes.c_int
    call.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    new_epoch = ctypes.byref(ctypes.c_uint64(1))

    def value(name):
        found, size = ctypes.c_size_t(), ctypes.c_size_t(ctypes.sizeof(ctypes.c_size_t))
        failed = call(name, ctypes.byref(found), ctypes.byref(size), None, 0)
        return None if failed else found.value

    def read_jemalloc():
        # The statistics are those of the last write to the epoch.
        call(b"epoch", None, None, new_epoch, 8)
        return value(b"stats.allocated"), value(b"stats.resident")

    has_statistics = None not in read_jemalloc()
    return read_jemalloc if has_statistics and _counts(library, read_jemalloc, _JEMALLOC_TRY_BYTES) else None


def _mimalloc(ctypes, library, call):
    """It counts what it holds in segments of many MiB, and not what is in use."""
    call.restype = None
    call.argtypes = (ctypes.c_void_p,) * 8
    library.mi_is_in_heap_region.restype = ctypes.c_bool
    library.mi_is_in_heap_region.argtypes = (ctypes.c_void_p,)

    def read_mimalloc():
        committed = ctypes.c_size_t()
        call(None, None, None, None, None, ctypes.byref(committed), None, None)
        return None, committed.value

    block = library.malloc(_TRY_BYTES)
    is_ours = library.mi_is_in_heap_region(block)
    library.free(block)
    return read_mimalloc if is_ours else None


#: Symbol, name, and what makes the reader: None where the process uses another malloc.
_SOURCES = (
    ("mallinfo2", "mallinfo2", _mallinfo2),
    ("mallinfo", "mallinfo", _mallinfo),
    ("mallctl", "jemalloc", _jemalloc),
    ("je_mallctl", "jemalloc", _jemalloc),
    ("mi_process_info", "mimalloc", _mimalloc),
)


def _counts(library, read, size):
    """
    Whether `read` counts the process's malloc, which may be that of another library or of a sanitizer.
    Tried rather than looked up: an executable may replace every symbol of its libraries.
    """
    # Other threads may free as much in between, but hardly every time, and jemalloc empties a thread's cache.
    for _ in range(_TRIES):
        before = read()[0]
        block = library.malloc(size)
        grown = read()[0] - before
        library.free(block)
        if grown >= size // 2:
            return True
    return False
