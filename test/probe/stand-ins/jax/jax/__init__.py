"""Stands in for JAX on a GPU: devices that exist once a backend was chosen, which asking for them does."""

import jaxlib  # noqa: F401
from jax._src import xla_bridge

__version__ = "0.6.0+standin"


def local_devices():
    return xla_bridge.backends()["cuda"]
