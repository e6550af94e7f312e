"""Stacks as tracemalloc takes them: who owns a frame, which frames are kept, and their file, line and function."""

import json
import operator
import os
import re
import sys
import types

# The frames (file, line) of an object's allocation, innermost first; None where it is not traced.
from _tracemalloc import _get_object_traceback as object_traceback

# Frames of one stack that are written down.
DEPTH = 25
# Frames that tracemalloc is asked for; a model of nested modules has three of its own to every level.
TRACED = 40
# Of those, how many may be any frame. Beyond them only user frames are kept, so that many nested library modules do not
# push the training loop off the stack.
NEAREST = 19

# Source files beyond this many bytes are not read for the names of functions.
MAX_SOURCE = 4 << 20

OURS, LIBRARY, USER = 0, 1, 2

# A program that imports one of these makes sub-interpreters.
SUBINTERPRETERS = ("_interpreters", "_xxsubinterpreters")

_ATTRIBUTE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_HERE = os.path.dirname(os.path.dirname(_ATTRIBUTE)) + os.sep
# The only file of attribution that calls the program: operators go through it.
_DISPATCH = _ATTRIBUTE + "tensors.py"
_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_DEFINITION = re.compile(rb"(\s*)(?:async\s+)?def\s+(\w+)")
_PACKAGES = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
# torch frames between the program and the dispatch mode: the probe caused them, the program did not.
_DISPATCH_FRAMES = (os.sep + os.path.join("torch", "utils", "_python_dispatch.py"),)


class _Marks(dict):
    """OURS, LIBRARY or USER by the file of a frame."""

    def __missing__(self, filename):
        if filename.startswith(_HERE) or filename.endswith(_DISPATCH_FRAMES):
            mark = OURS
        elif filename.startswith(("<frozen", _STDLIB)) or any(part in filename for part in _PACKAGES):
            mark = LIBRARY
        else:
            mark = USER
        self[filename] = mark
        return mark


# Without a call in Python: it is asked for every frame of thousands of stacks.
mark_of = _Marks().__getitem__
_file = operator.itemgetter(0)


def has_subinterpreters():
    """Whether the program can make sub-interpreters."""
    return any(name in sys.modules for name in SUBINTERPRETERS)


def running_frames():
    """The innermost frame of every thread; with sub-interpreters, of this thread alone.

    Python lists their threads too, and a frame object that one interpreter makes for another's frame crashes both.
    """
    return [sys._getframe(1)] if has_subinterpreters() else list(sys._current_frames().values())


def ours(filename):
    """Whether the file is one of the probe's."""
    return filename.startswith(_HERE)


def passes_on(filename):
    """Whether a file of the probe calls the program: threads and operators go through it."""
    return not filename.startswith(_ATTRIBUTE) or filename == _DISPATCH


def made_for_probe(frames):
    """Allocated by the probe, or for it: a frame of the probe is among the innermost.

    Further out, a frame of the probe may also have called the program: a thread or an operator that goes through it.
    """
    if OURS not in map(mark_of, map(_file, frames)):
        return False
    for depth, (filename, _) in enumerate(frames):
        if ours(filename) and (depth < 3 or not passes_on(filename)):
            return True
    return False


def codes_of(module):
    """Every code object of the functions and classes a module defines."""
    waiting = [one for one in vars(module).values() if getattr(one, "__module__", None) == module.__name__]
    found = []
    while waiting:
        one = waiting.pop()
        if isinstance(one, type):
            waiting.extend(vars(one).values())
        elif isinstance(one, (staticmethod, classmethod)):
            waiting.append(one.__func__)
        elif isinstance(one, property):
            waiting.extend(function for function in (one.fget, one.fset) if function is not None)
        else:
            code = one if isinstance(one, types.CodeType) else getattr(one, "__code__", None)
            if isinstance(code, types.CodeType):
                found.append(code)
                waiting.extend(inner for inner in code.co_consts if isinstance(inner, types.CodeType))
    return found


def shortened(frames):
    """The nearest frames of an operator's call, and the user's own among the farther ones."""
    kept = []
    for frame in frames:
        mark = mark_of(frame[0])
        if mark == USER or (mark == LIBRARY and len(kept) < NEAREST):
            kept.append(frame)
            if len(kept) == DEPTH:
                break
    return tuple(kept)


def phase_of(frames):
    """"backward", "optimizer" or "forward": the part of a training step that frames belong to."""
    for frame in frames:
        path = frame[0].replace("\\", "/")
        if "/torch/optim/" in path:
            return "optimizer"
        if path.endswith(("/torch/autograd/__init__.py", "/torch/autograd/graph.py")):
            return "backward"
    return "forward"


encode = json.JSONEncoder(separators=(",", ":")).encode


def frame_row(file, line, function):
    """A frame as a row of a document, in JSON."""
    return encode({"file": file, "line": line or 0, "function": function})


class Stacks:
    """Resolves stacks to file, line and function."""

    def __init__(self):
        self.base = os.getcwd()
        self._absolute = {}
        # By (file, line): most frames are in many stacks. Empty for a frame that is left out.
        self._rows = {}
        self._sources = {}

    def resolve(self, frames):
        """Frames (file, line), innermost first, as rows of a document in JSON."""
        rows = []
        for frame in frames:
            row = self._rows.get(frame)
            if row is None:
                row = self._rows[frame] = self._row(*frame)
            if row:
                rows.append(row)
        return rows

    def _row(self, filename, line):
        if ours(filename) or filename.startswith("<frozen"):
            return ""
        return frame_row(self.absolute(filename), line, self.function_at(filename, line))

    def rest(self):
        """Drop the sources that were read for this document: the next one would count them."""
        self._sources.clear()

    def absolute(self, filename):
        """Full path of a file. Names such as `<string>` stay as they are."""
        known = self._absolute.get(filename)
        if known is None:
            known = filename
            if filename and not filename.startswith("<"):
                known = os.path.normpath(os.path.join(self.base, filename))
            self._absolute[filename] = known
        return known

    def function_at(self, filename, line):
        """Name of the function around a line of the source. `<module>` outside of one, "" when the source cannot be read."""
        lines = self._sources.get(filename)
        if lines is None:
            lines = self._sources[filename] = _source_lines(self.absolute(filename))
        return _function_around(lines, line)


def _source_lines(path):
    try:
        if path.startswith("<") or os.path.getsize(path) > MAX_SOURCE:
            return ()
        with open(path, "rb") as source:
            return source.read().split(b"\n")
    except OSError:
        return ()


def _function_around(lines, line):
    """By indentation, upwards from the line. Parsing costs a hundred times as much, and all that can be missed is a name."""
    if not 1 <= line <= len(lines):
        return ""
    match = _DEFINITION.match(lines[line - 1])
    if match:
        return match.group(2).decode("utf-8", "replace")
    indent = _indent(lines[line - 1])
    at = line - 2
    while at >= 0 and indent > 0:
        text = lines[at]
        # Comments have any indentation, and the end of a signature over several lines has that of its `def`.
        if text.strip() and not text.lstrip().startswith((b"#", b")", b"]", b"}")):
            here = _indent(text)
            if here < indent:
                match = _DEFINITION.match(text)
                if match:
                    return match.group(2).decode("utf-8", "replace")
                indent = here
        at -= 1
    return "<module>"


def _indent(text):
    return len(text) - len(text.lstrip())
