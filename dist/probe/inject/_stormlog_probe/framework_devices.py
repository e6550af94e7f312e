"""Bytes of the GPU allocators of TensorFlow and JAX, once they are initialised. Reads only, and never resets."""

import sys

from . import ring


class TensorFlow:
    """Current and peak bytes of each GPU."""

    kind = ring.TENSORFLOW

    def __init__(self, module):
        self._module = module
        self._devices = None
        self._peaks = {}
        self.peaks_reset = False

    def initialized(self):
        # `list_logical_devices` would itself start the context, and with it take the GPU's memory.
        context = sys.modules.get("tensorflow.python.eager.context")
        current = getattr(context, "_context", None)
        return current is not None and bool(getattr(current, "_initialized", False))

    def read(self):
        if not self.initialized():
            return []
        config = self._module.config
        if self._devices is None:
            self._devices = [_short(device.name) for device in config.list_logical_devices("GPU")]
        found = []
        for index, name in enumerate(self._devices):
            info = config.experimental.get_memory_info(name)
            peak = info.get("peak")
            self.peaks_reset = self.peaks_reset or (peak or 0) < self._peaks.get(index, 0)
            self._peaks[index] = peak or 0
            found.append((index, (info.get("current"), None, None, peak)))
        return found


class Jax:
    """Bytes in use, their peak, and the bytes of the pool, for each local device."""

    kind = ring.JAX
    # XLA has no function that resets them.
    peaks_reset = False

    def __init__(self, module):
        self._module = module

    def initialized(self):
        # `jax.local_devices()` would itself choose and start a backend.
        bridge = sys.modules.get("jax._src.xla_bridge")
        return bool(getattr(bridge, "_backends", None))

    def read(self):
        if not self.initialized():
            return []
        found = []
        for index, device in enumerate(self._module.local_devices()):
            stats = device.memory_stats()
            # The CPU backend has none: its arrays are in the heap.
            if stats:
                pool = stats.get("pool_bytes", stats.get("bytes_reserved"))
                found.append((index, (stats.get("bytes_in_use"), pool, None, stats.get("peak_bytes_in_use"))))
        return found


def _short(name):
    """"GPU:0" of "/device:GPU:0", which not every version of `get_memory_info` takes."""
    return name.rpartition("device:")[2]
