"""Stands in for a PyTorch on a device that records the allocator's history: tensors that are only bookkeeping, and the private
calls in the form of three releases (STANDIN_TORCH: today's, 2.0, 1.13)."""

import os
import sys
import weakref

RELEASE = os.environ.get("STANDIN_TORCH", "today")
__version__ = {"today": "2.9.0", "2.0": "2.0.1", "1.13": "1.13.1"}[RELEASE] + "+standin"


class _C:
    """Without this module the probe treats torch as a namespace directory."""


class device:
    def __init__(self, kind, index):
        self.type = kind
        self.index = index


class _Storage:
    def __init__(self, address, size):
        self.address = address
        self.size = size

    def data_ptr(self):
        return self.address

    def nbytes(self):
        return self.size


class Tensor:
    requires_grad = False
    is_leaf = True

    def __init__(self, storage):
        self._own = storage
        self.device = device("cuda", 0)

    def untyped_storage(self):
        return self._own

    def detach(self):
        return Tensor(self._own)


class nn:
    class Parameter(Tensor):
        pass


from torch import cuda  # noqa: E402


def empty(size):
    """A tensor of `size` bytes on the device."""
    cuda.init()
    storage = _Storage(*cuda.memory.allocate(size, _stack()))
    weakref.finalize(storage, cuda.memory.free, storage.address)
    return Tensor(storage)


def _stack():
    frames, frame = [], sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        frames.append({"name": code.co_name, "filename": code.co_filename, "line": frame.f_lineno})
        frame = frame.f_back
    return frames
