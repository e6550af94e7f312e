"""The phases that the program names, with their times, for the info file."""

import itertools

from . import ring

#: Phases of a process that are kept. Later ones are only counted.
MAX = 256
#: Characters of a name that are kept.
MAX_NAME = 80
UNNAMED = "(unnamed)"


class Phases:
    """Entered and left by any thread and in signal handlers, without a lock that one of them could wait for in vain."""

    def __init__(self):
        self._numbers = itertools.count()
        #: Phases that are newer than the info file.
        self._changed = []
        self.dropped = 0

    def begin(self, name):
        """The phase called `name` is entered: [number, name, began, ended (None: not yet), whose]; None where no more are kept."""
        name = tidy(name)
        number = next(self._numbers)
        if number >= MAX:
            self.dropped = max(self.dropped, number + 1 - MAX)
            return None
        entered = [number, name, ring.monotonic_ns(), None, self]
        self._changed.append(entered)
        return entered

    def end(self, entered):
        entered[3] = ring.monotonic_ns()
        self._changed.append(entered)

    def take_changes(self):
        """The changed phases as values of the info file. Called by one thread at a time."""
        lines = {}
        while self._changed:
            number, name, began, ended, _ = self._changed.pop(0)
            lines["phase.%d" % number] = "%d %s %s" % (began, "-" if ended is None else ended, name)
        if self.dropped:
            lines["phases_dropped"] = self.dropped
        return lines


def tidy(name):
    """Any text as a name: on one line, printable, and of limited length."""
    if type(name) is not str:
        name = str(name)
    if len(name) > MAX_NAME or not name.isprintable():
        # Limits the cost for a text of any length.
        words = " ".join(name[: 8 * MAX_NAME].split())
        name = "".join(letter for letter in words if letter.isprintable())[:MAX_NAME]
    return name.strip() or UNNAMED
