import sys

_backends = {}


class Device:
    def __init__(self):
        self.used = 0
        self.peak = 0

    def allocate(self, size):
        self.used += size
        self.peak = max(self.peak, self.used)

    def memory_stats(self):
        return {"bytes_in_use": self.used, "peak_bytes_in_use": self.peak, "pool_bytes": 1 << 28, "bytes_limit": 1 << 30}


class HostDevice:
    def memory_stats(self):
        return None


def backends():
    if not _backends:
        sys.stdout.write("initialised\n")
        _backends["cuda"] = [Device(), HostDevice()]
    return _backends
