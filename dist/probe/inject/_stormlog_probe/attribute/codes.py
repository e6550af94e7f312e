"""The code objects of a program: those of the functions that its modules lead to, and of the frames that run.

The collector's list of all objects would be shorter to walk. But it hands out tuples that another thread is still filling,
and CPython then refuses to resize them: the program would end with a SystemError.
"""

import functools
import sys
import types

from .frames import running_frames

# Larger tables are data, no registries of functions.
_MAX_ITEMS = 1000

_NAMES = types.ModuleType.__dict__["__dict__"].__get__
_MEMBERS = type.__dict__["__dict__"].__get__


class Codes:
    """Finds code objects by their addresses. While Python's memory is traced every new object is slow, so few are made."""

    def __init__(self):
        # By address. They are kept, so that no other one gets it.
        self.found = {}
        self._missing = set()

    def remember(self):
        """Keep the code that runs now: that of an import or of the main file is not found again when it is over."""
        for frame in running_frames():
            while frame is not None:
                self.found.setdefault(id(frame.f_code), frame.f_code)
                frame = frame.f_back

    def find(self, addresses):
        """Look for these; those that are known or were missed are left out. Afterwards they are in `found`, or nowhere."""
        self.remember()
        wanted = addresses.difference(self.found) - self._missing
        if wanted:
            self._look_through(wanted)
        self._missing |= wanted

    def _look_through(self, wanted):
        functions, classes = set(), set()
        for module in list(sys.modules.values()):
            # A lazy module, which loads itself on attribute access, is left alone.
            if issubclass(type(module), types.ModuleType):
                self._look_at(list(_NAMES(module).values()), wanted, functions, classes)
                if not wanted:
                    return

    def _look_at(self, waiting, wanted, functions, classes):
        while waiting:
            one = waiting.pop()
            # Never `isinstance` or an attribute of an unknown object: both may run the program's code.
            kind = type(one)
            if kind is types.FunctionType:
                if one not in functions:
                    functions.add(one)
                    self._take(one.__code__, wanted)
                    if one.__closure__ is not None:
                        waiting.extend(_hidden(one))
            elif issubclass(kind, type):
                if id(one) not in classes:
                    classes.add(id(one))
                    waiting.extend(_MEMBERS(one).values())
            elif kind is staticmethod or kind is classmethod or kind is types.MethodType:
                waiting.append(one.__func__)
            elif kind is property:
                waiting.extend((one.fget, one.fset, one.fdel))
            elif kind is functools.partial:
                waiting.append(one.func)
            elif (kind is dict or kind is list or kind is tuple) and len(one) <= _MAX_ITEMS:
                items = list(one.values()) if kind is dict else list(one)
                waiting.extend([item for item in items if type(item) is types.FunctionType])

    def _take(self, code, wanted):
        """A code object, and those of the functions that are defined in it."""
        address = id(code)
        if address in wanted:
            wanted.discard(address)
            self.found[address] = code
        for inner in code.co_consts:
            if type(inner) is types.CodeType:
                self._take(inner, wanted)


def _hidden(function):
    """The functions that a decorator hides behind this one."""
    found = []
    for cell in function.__closure__:
        try:
            found.append(cell.cell_contents)
        except ValueError:
            # Not filled yet.
            pass
    return found
