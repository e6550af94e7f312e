"""CPython's own allocator (blocks of up to 512 bytes, which it takes from arenas and malloc does not see): bytes and blocks in
use, to the block.

CPython counts them in any build when it prints the statistics of `sys._debugmallocstats`. The function below that call takes the
stream to print to, so here it prints into memory. It visits the header of every pool, about 3 us per MiB of arenas (10 us before
3.10, whose pools are smaller); the caller keeps to a budget.
"""

from . import threads

NOT_READ_YET = "not read yet"

_IN_USE = b"# bytes in allocated blocks"
_ARENAS = b" bytes/arena"
#: A line of the table of size classes: class, size, pools, blocks in use, blocks available.
_COLUMNS, _BLOCKS = 5, 3

_print = None
_how = "none:" + NOT_READ_YET
_reading = threads.allocate_lock()


def read():
    """(bytes in use, bytes of the arenas, blocks in use), or None where they are not known."""
    if _print is None or not _reading.acquire(False):
        return None
    try:
        return _parsed(_print())
    finally:
        _reading.release()


def how():
    """For the info file: "pymalloc", or "none:" and the reason."""
    return _how


def prepare():
    """Find the interpreter's function; once, and not at the start of a process, since it loads ctypes."""
    global _print, _how
    if _how != "none:" + NOT_READ_YET:
        return
    try:
        import ctypes

        function = getattr(ctypes.pythonapi, "_PyObject_DebugMallocStats", None)
        if function is None:
            _how = "none:this Python does not export the statistics of its allocator"
            return
        printed = _printer(ctypes, function)
        if _parsed(printed()) is None:
            _how = "none:this Python does not allocate from arenas (PYTHONMALLOC, or a free-threaded build)"
            return
        _print, _how = printed, "pymalloc"
    except Exception as error:  # noqa: BLE001 (no ctypes, another interpreter, a C library without open_memstream)
        _how = "none:%s: %s" % (type(error).__name__, error)


def _printer(ctypes, function):
    """What `function` prints. The stream is kept: opening one at each reading would move the C heap."""
    # PyDLL keeps the interpreter's lock, which the arenas are read under.
    library = ctypes.PyDLL(None)
    function.argtypes = library.rewind.argtypes = library.fflush.argtypes = (ctypes.c_void_p,)
    library.open_memstream.restype = ctypes.c_void_p
    library.open_memstream.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    text, size = ctypes.c_void_p(), ctypes.c_size_t()
    stream = library.open_memstream(ctypes.byref(text), ctypes.byref(size))
    if not stream:
        raise OSError("no stream in memory")

    def printed():
        library.rewind(stream)
        function(stream)
        library.fflush(stream)
        return ctypes.string_at(text.value, size.value)

    return printed


def _parsed(text):
    at = text.find(_IN_USE)
    arenas = text.find(_ARENAS)
    if at < 0 or arenas < 0:
        return None
    in_use = _number_after(text, at)
    held = _number_after(text, arenas)
    blocks = 0
    # The table is the first paragraph, below two lines of head.
    for line in text[:arenas].split(b"\n"):
        words = line.split()
        if len(words) == _COLUMNS and words[0].isdigit():
            blocks += int(words[_BLOCKS])
    return in_use, held, blocks


def _number_after(text, at):
    """The number behind the next "=", written with commas."""
    begin = text.index(b"=", at) + 1
    return int(text[begin : text.index(b"\n", begin)].replace(b",", b""))
