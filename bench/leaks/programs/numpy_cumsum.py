"""`cumsum` into a given array keeps the array that it returns: a Python object and 8,048 bytes of native memory."""

import numpy as np

values = np.ones(1000)


def call():
    out = np.empty(1000)
    np.cumsum(values, out=out)  # leaks
