"""Shared code of the patterns without a leak: arguments, data, network, training loop.

The directory has the name of installed packages. Reports name the innermost line of the user's code, to which the network and
the trainer usually do not belong in real training. The line of a leak is thus in the pattern's file, on every backend.
"""

import os

__path__ = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages")]
