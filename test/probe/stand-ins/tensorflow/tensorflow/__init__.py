"""Stands in for TensorFlow on a GPU: memory counters that exist once the eager context exists, and create it when read before."""

from tensorflow.python.eager import context as _eager

__version__ = "2.18.0+standin"


class _Device:
    def __init__(self, name):
        self.name = name


class config:
    @staticmethod
    def list_logical_devices(kind):
        _eager.context().ensure_initialized()
        return [_Device("/device:%s:%d" % (kind, index)) for index in range(2)]

    class experimental:
        @staticmethod
        def get_memory_info(device):
            _eager.context().ensure_initialized()
            return dict(_eager.memory[int(device.rpartition(":")[2])])

        @staticmethod
        def reset_memory_stats(device):
            info = _eager.memory[int(device.rpartition(":")[2])]
            info["peak"] = info["current"]


def allocate(index, size):
    """An operation that keeps `size` bytes."""
    _eager.context().ensure_initialized()
    info = _eager.memory[index]
    info["current"] += size
    info["peak"] = max(info["peak"], info["current"])
