"""TensorFlow's GPU allocator, once its context is initialised: current and peak bytes per device."""

import sys

from . import ring


class TensorFlow:
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


def _short(name):
    """"GPU:0" of "/device:GPU:0", which not every version of `get_memory_info` takes."""
    return name.rpartition("device:")[2]
