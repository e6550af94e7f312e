"""Stacks of allocations, which the preloaded library samples, with the Python frames that called them: those of the C heap
and, in a run that looks for growth, of Python's own allocator.

The library reads Python's frames as they lie in memory, by a layout of this version that is compared with what Python
itself reports before it is used. It notes addresses alone; here they become files and lines, where a live code object
has the same address, name and first line.
"""

import functools
import json
import os
import sys
import types

from .codes import Codes
from .frames import USER, mark_of, ours, passes_on

# From the thread's state to its frame (through a structure), and within a frame: previous, code, instruction,
# its bytes, owner.
_LAYOUTS = {
    (3, 8): (24, -1, 24, 32, 104, 4, -1),
    (3, 9): (24, -1, 24, 32, 104, 4, -1),
    (3, 10): (24, -1, 24, 32, 96, 4, -1),
    (3, 11): (56, 8, 48, 32, 56, 8, -1),
    (3, 12): (56, 0, 8, 0, 56, 8, 70),
    (3, 13): (72, -1, 8, 0, 56, 8, 70),
    (3, 14): (72, -1, 8, 0, 56, 8, 74),
}
_FIELDS = 12
_FRAME_WORDS = 5
_FRAMES = 12

# Frames of the probe's files that may call the program, and of those that work for the probe alone.
_OURS, _ATTRIBUTION = "probe", "attribution"


class NativeStacks:
    """The library's samples, where it is loaded and samples."""

    def __init__(self, stacks):
        self.note = None
        self._stacks = stacks
        self._library = None
        self._layout = None
        # In a run that looks for a peak, as Categories.
        self.categories = None
        self.codes = Codes()
        # By the five numbers of a frame.
        self._places = {}

    def start(self):
        """Look for the library, and have it read Python's frames where that is safe."""
        if os.environ.get("STORMLOG_GATE_STACKS") not in ("1", "peak"):
            return
        try:
            # Loaded now: between two moments its types and modules would look like something that the program keeps.
            import ast  # noqa: F401
            import ctypes
            import dis  # noqa: F401
            import linecache  # noqa: F401

            library = ctypes.CDLL(None)
            if not library.stormlog_stacks_state():
                self.note = "native stacks are not sampled: that needs glibc 2.35 or later"
                return
        except (ImportError, AttributeError, OSError):
            self.note = "native stacks are not sampled: the library is not loaded in a Python process, or it has no ctypes"
            return
        self._library = library
        library.stormlog_stacks_write.argtypes = (ctypes.c_char_p, ctypes.c_uint64, ctypes.c_int64)
        library.stormlog_stacks_frames.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)
        library.stormlog_stacks_python.argtypes = (ctypes.c_void_p,)
        layout = _layout(ctypes)
        if layout is None or not _agrees(ctypes, library, layout):
            version = "%s %d.%d" % ((sys.implementation.name,) + sys.version_info[:2])
            self.note = "native stacks have no Python lines: the frames of %s are not known" % version
            return
        self._layout = layout
        library.stormlog_stacks_python(layout)
        # With the interpreter's lock, and before tracemalloc puts its own layer above the allocators.
        ctypes.PyDLL(None).stormlog_stacks_objects()

    def with_categories(self):
        """Have the library note categories and phases."""
        if self._library is not None:
            from .categories import Categories

            self.categories = Categories(self._library)

    def stop(self):
        """No longer read Python's frames: the interpreter ends."""
        if self._layout is not None:
            self._library.stormlog_stacks_python(None)

    def write(self, base, moment, step):
        """Write BASE.native.<moment>.json; nothing where nothing is sampled."""
        if self._library is None:
            return
        path = "%s.native.%d.json" % (base, moment)
        raw = path + ".raw"
        if not self._library.stormlog_stacks_write(os.fsencode(raw), moment, -1 if step is None else int(step)):
            return
        try:
            with open(raw, encoding="utf-8", errors="replace") as file:
                content = json.load(file)
        finally:
            os.unlink(raw)
        frames = {tuple(frame) for stack in content["stacks"] for frame in stack["python"]}
        self.codes.find({frame[0] for frame in frames})
        for frame in frames.difference(self._places):
            place = self._frame(frame)
            # A code object that is not found now may be found later.
            if place is not None:
                self._places[frame] = place
        kept = []
        own = 0
        for stack in content["stacks"]:
            places = [self._places.get(tuple(frame)) for frame in stack["python"]]
            if places[:1] == [_OURS] or _ATTRIBUTION in places:
                own += stack["bytes"]
                continue
            stack["python"] = [place for place in places if type(place) is list]
            kept.append(stack)
        content["stacks"] = kept
        content["total_bytes"] -= own
        if content["heap_bytes"] is not None:
            # The allocator counts the probe's own memory too; as a document is written that is megabytes.
            content["heap_bytes"] -= own
        if self.categories is not None:
            self.categories.name(content)
        with open(path + ".part", "w") as file:
            # In one piece: writing part by part takes ten times as long.
            file.write(json.dumps(content, separators=(",", ":")))
        os.replace(path + ".part", path)

    def _frame(self, frame):
        """[file, line, function, name of what is called or None]; a mark for the probe's; None where it is not known."""
        address, instruction, file, name, first = frame
        code = self.codes.found.get(address)
        if code is None or (id(code.co_filename), id(code.co_name), code.co_firstlineno) != (file, name, first):
            return None
        if ours(code.co_filename):
            return _OURS if passes_on(code.co_filename) else _ATTRIBUTION
        offset = _offset(code, instruction)
        line = _line(code, offset)
        if line is None:
            return None
        called = _called(code, offset, line) if mark_of(code.co_filename) == USER else None
        return [self._stacks.absolute(code.co_filename), line, code.co_name, called]


def _layout(ctypes):
    """The structure `PythonLayout` of the library for this Python; None when it is not known."""
    known = _LAYOUTS.get(sys.version_info[:2])
    if sys.implementation.name != "cpython" or known is None or not getattr(sys, "_is_gil_enabled", _true)():
        return None
    if hasattr(sys, "gettotalrefcount"):
        # Objects of a debug build begin with more.
        return None
    within = _code_offsets(ctypes)
    if within is None:
        return None
    state = ctypes.cast(ctypes.pythonapi.PyGILState_GetThisThreadState, ctypes.c_void_p).value
    return (ctypes.c_int64 * _FIELDS)(state, id(types.CodeType), *(known + within))


def _true():
    return True


def _code_offsets(ctypes):
    """Where a code object has its file name, its name and its first line: found in those of several functions."""
    codes = [one.__code__ for one in (_layout, _line, _called, _true, ours, NativeStacks.write)]
    size = types.CodeType.__basicsize__
    fields = (
        (8, lambda code: id(code.co_filename)),
        (8, lambda code: id(code.co_name)),
        (4, lambda code: code.co_firstlineno),
    )
    found = []
    memories = [(code, ctypes.string_at(id(code), size)) for code in codes]
    for width, value in fields:
        at = [
            offset
            for offset in range(0, size - width + 1, width)
            if all(int.from_bytes(memory[offset : offset + width], sys.byteorder) == value(code) for code, memory in memories)
        ]
        if len(at) < 1:
            return None
        found.append(at[0])
    return tuple(found)


def _agrees(ctypes, library, layout):
    """Whether the library reads the same frames and lines as Python reports, also within a generator and a call from C."""
    compare = functools.partial(_compared, ctypes, library, layout)
    return compare() and all(one() for one in (compare, compare)) and all(map(_called_from_c, (compare, compare)))


def _called_from_c(compare):
    return compare()


def _compared(ctypes, library, layout):
    words = (ctypes.c_uint64 * (_FRAMES * _FRAME_WORDS))()
    # In one line: the frame's own line is that of the call.
    count, frame = library.stormlog_stacks_frames(layout, words, _FRAMES), sys._getframe()
    for index in range(_FRAMES):
        if frame is None:
            return count == index
        if index >= count:
            return False
        address, instruction, file, name, first = words[index * _FRAME_WORDS : (index + 1) * _FRAME_WORDS]
        code = frame.f_code
        if (address, file, name, first) != (id(code), id(code.co_filename), id(code.co_name), code.co_firstlineno):
            return False
        line = _line(code, _offset(code, instruction))
        if line != (frame.f_lineno if index > 0 else _COMPARED_LINE):
            return False
        frame = frame.f_back
    return True


_COMPARED_LINE = _compared.__code__.co_firstlineno + 3


def _offset(code, instruction):
    """Offset in bytes of an instruction: the library's number is an address, or an index."""
    if sys.version_info >= (3, 11):
        return instruction - id(code) - types.CodeType.__basicsize__
    return instruction * 2 if sys.version_info >= (3, 10) else instruction


def _line(code, offset):
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            if start <= offset < end:
                return line
        return None
    import dis

    found = None
    for start, line in dis.findlinestarts(code):
        if start > offset:
            break
        found = line
    return found


def _called(code, offset, line):
    """Name of the function that the instruction calls, from its source; None where that is not certain."""
    import ast
    import linecache

    try:
        if hasattr(code, "co_positions"):
            first, last, start, end = list(code.co_positions())[offset // 2]
            lines = [text.encode() for text in linecache.getlines(code.co_filename)[first - 1 : last]]
            lines[-1] = lines[-1][:end]
            lines[0] = lines[0][start:]
            calls = [ast.parse(b"".join(lines), mode="eval").body]
        else:
            source = linecache.getline(code.co_filename, line).strip()
            calls = [one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.Call)]
    except (SyntaxError, ValueError, IndexError, TypeError):
        return None
    if len(calls) != 1 or not isinstance(calls[0], ast.Call):
        return None
    function = calls[0].func
    return getattr(function, "attr", None) or getattr(function, "id", None)
