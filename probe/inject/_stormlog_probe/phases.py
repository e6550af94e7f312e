"""Parts of the program that it names itself, with their moments, for the info file."""

import itertools

from . import ring

#: Phases that are kept of a process; of those after them only the number is.
MAX = 256
#: Characters of a name that are kept.
MAX_NAME = 80
UNNAMED = "(unnamed)"


class Phases:
    """Entered and left by any thread and in signal handlers: without a lock that one of them could wait for in vain."""

    def __init__(self):
        self._numbers = itertools.count()
        #: Phases that the info file does not tell as they are by now.
        self._untold = []
        self.dropped = 0

    def begin(self, name):
        """The phase called `name` is entered: [number, name, began, ended (None: not yet), whose]; None where no more are kept."""
        name = tidy(name)
        number = next(self._numbers)
        if number >= MAX:
            self.dropped = max(self.dropped, number + 1 - MAX)
            return None
        entered = [number, name, ring.monotonic_ns(), None, self]
        self._untold.append(entered)
        return entered

    def end(self, entered):
        entered[3] = ring.monotonic_ns()
        self._untold.append(entered)

    def told(self):
        """What is new of them, for the info file; called by one thread at a time."""
        lines = {}
        while self._untold:
            number, name, began, ended, _ = self._untold.pop(0)
            lines["phase.%d" % number] = "%d %s %s" % (began, "-" if ended is None else ended, name)
        if self.dropped:
            lines["phases_dropped"] = self.dropped
        return lines


def tidy(name):
    """Any text as a name: on one line, without what acts unseen, and not long."""
    if type(name) is not str:
        name = str(name)
    if len(name) > MAX_NAME or not name.isprintable():
        # A text of any length costs no more than one of this.
        words = " ".join(name[: 8 * MAX_NAME].split())
        name = "".join(letter for letter in words if letter.isprintable())[:MAX_NAME]
    return name.strip() or UNNAMED
