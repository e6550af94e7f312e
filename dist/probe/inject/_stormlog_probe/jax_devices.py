"""JAX's allocators, once a backend is initialised: bytes in use, their peak, and the pool's bytes, per local device."""

import sys

from . import ring


class Jax:
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
