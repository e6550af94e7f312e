import sys

from torch import _C, _driver
from torch.cuda import memory
from torch.cuda.memory import reset_peak_memory_stats  # noqa: F401

_initialized = False
_queued_calls = []


class DeferredCudaCallError(Exception):
    pass


def is_initialized():
    return _initialized and not _C._cuda_isInBadFork()


def _lazy_call(call):
    if is_initialized():
        call()
    else:
        _queued_calls.append(call)


def init():
    """First tensor on the device."""
    global _initialized
    if is_initialized():
        return
    if _C._cuda_isInBadFork():
        raise RuntimeError("Cannot re-initialize CUDA in forked subprocess.")
    _C._cuda_init()
    for call in _queued_calls:
        try:
            call()
        except Exception as error:
            raise DeferredCudaCallError(str(error)) from error
    _initialized = True
    sys.stdout.write("initialised\n")


def device_count():
    return len(_C._devices)


class _Properties:
    total_memory = _C.TOTAL

    def __init__(self, index):
        self.name = _driver.devices[index].model
        self.uuid = _driver.devices[index].uuid


def get_device_properties(index):
    init()
    return _Properties(index)


__all__ = ["memory"]
