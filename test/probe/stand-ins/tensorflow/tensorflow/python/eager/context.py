import sys

_context = None
memory = [{"current": 0, "peak": 0}, {"current": 0, "peak": 0}]


class Context:
    def __init__(self):
        self._initialized = False

    def ensure_initialized(self):
        if not self._initialized:
            sys.stdout.write("initialised\n")
        self._initialized = True


def context():
    global _context
    if _context is None:
        _context = Context()
    return _context
