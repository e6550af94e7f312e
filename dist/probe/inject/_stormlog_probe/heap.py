"""The C heap of this process: glibc's own count of what is in use and what it holds, through mallinfo2.

Memory that a caching layer above malloc manages counts as in use from the moment that layer took it; layers that take it from
the kernel (CPython's arenas for objects up to 512 bytes) are not in it. Blocks in a thread's cache (tcache, 7 of each size)
count as in use: this, some hundred bytes to some kilobytes, is the noise of the series. A reading walks the free lists of
every arena, so its cost grows with fragmentation; the caller keeps to a budget.
"""

NOT_READ_YET = "not read yet"

_TRY_BYTES = 1 << 14
_TRIES = 3

_reader = None
_how = "none:" + NOT_READ_YET


def read():
    """(bytes in use, bytes held from the system), or None where the C library does not report them."""
    return None if _reader is None else _reader()


def how():
    """For the info file: "mallinfo2", "mallinfo", or "none:" and the reason."""
    return _how


def prepare():
    """Find the C library's function; once, and not at the start of a process, since it loads ctypes."""
    global _reader, _how
    if _how != "none:" + NOT_READ_YET:
        return
    try:
        import ctypes

        # PyDLL keeps the interpreter's lock: the call is short, and asking for the lock again may take a switch
        # interval.
        library = ctypes.PyDLL(None)
        if not hasattr(library, "mallinfo2") and not hasattr(library, "mallinfo"):
            _how = "none:this C library has no mallinfo2"
            return
        name = "mallinfo2" if hasattr(library, "mallinfo2") else "mallinfo"
        reader = _mallinfo2(ctypes, library) if name == "mallinfo2" else _mallinfo(ctypes, library)
        if not _is_ours(ctypes, library, reader):
            _how = "none:malloc is not that of the C library, so %s does not count it" % name
            return
        _reader, _how = reader, name
    except Exception as error:  # noqa: BLE001 (a Python without ctypes)
        _how = "none:%s: %s" % (type(error).__name__, error)


def _fields(ctypes, kind):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    return type("mallinfo", (ctypes.Structure,), {"_fields_": [(name, kind) for name in names]})


def _mallinfo2(ctypes, library):
    call = library.mallinfo2
    call.restype = _fields(ctypes, ctypes.c_size_t)
    call.argtypes = ()

    def read_mallinfo2():
        info = call()
        return info.uordblks + info.hblkhd, info.arena + info.hblkhd

    return read_mallinfo2


def _mallinfo(ctypes, library):
    """Before glibc 2.33 the fields are 32 bits wide: what moved between two readings is taken to be less than 2 GiB."""
    call = library.mallinfo
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

    return read_mallinfo


def _is_ours(ctypes, library, read):
    """
    Whether the process uses this C library's malloc, and not that of jemalloc or a sanitizer, which mallinfo2 does not count.
    Tried rather than looked up: an executable may replace every symbol of its libraries.
    """
    library.malloc.restype = ctypes.c_void_p
    library.malloc.argtypes = (ctypes.c_size_t,)
    library.free.restype = None
    library.free.argtypes = (ctypes.c_void_p,)
    # Other threads may free as much in between, but hardly every time.
    for _ in range(_TRIES):
        before = read()[0]
        block = library.malloc(_TRY_BYTES)
        grown = read()[0] - before
        library.free(block)
        if grown >= _TRY_BYTES:
            return True
    return False
