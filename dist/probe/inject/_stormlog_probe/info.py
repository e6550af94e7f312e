"""Files of `key=value` lines: what is known of the process, and of its out-of-memory errors."""

import os


def encode(value):
    return str(value).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def write(path, values):
    """Replace the file at `path`, so that a reader never sees half of it. Values that are None are left out. Raises OSError."""
    text = "".join("%s=%s\n" % (key, encode(value)) for key, value in values.items() if value is not None)
    part = path + ".new"
    out = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        data = text.encode("utf-8", "backslashreplace")
        while data:
            data = data[os.write(out, data) :]
    except BaseException:
        os.unlink(part)
        raise
    finally:
        os.close(out)
    os.replace(part, path)


class Info:
    """The info file of one process, replaced whole whenever something became known."""

    def __init__(self, path):
        self._path = path
        self._values = {}
        self._written = {}

    def get(self, key):
        return self._values.get(key)

    def set(self, **values):
        self._values.update(values)

    def update(self, values):
        self._values.update(values)

    def save(self):
        """Raises OSError."""
        if self._values != self._written:
            wanted = dict(self._values)
            write(self._path, wanted)
            self._written = wanted
