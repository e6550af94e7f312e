"""
Moments at which memory beyond the allocator comes, for the info file: process groups are asked for, a module that communicates by
itself is made (its communicators come within). Each is told once, and what stood in its way is gone afterwards. Nothing in here
touches a device.
"""

import functools
import sys

from . import complain, ring

#: Functions of torch.distributed that make a process group.
_GROUPS = ("init_process_group", "new_group")


def hook(told):
    """Have `told({name: monotonic ns})` called for what torch.distributed does first; torch is imported already."""
    names = ("torch.distributed.distributed_c10d", "torch.distributed")
    owners = [sys.modules[name] for name in names if sys.modules.get(name) is not None]
    if owners:
        group = _Once(lambda began, ended: told({"mark.group": began, "mark.group_end": ended}))
        for name in _GROUPS:
            group.watch(owners, name)
    wrapping = sys.modules.get("torch.nn.parallel.distributed")
    module = getattr(wrapping, "DistributedDataParallel", None)
    if module is not None:
        wrap = _Once(lambda began, ended: told({"mark.wrap": began, "mark.wrap_end": ended}))
        wrap.watch([module], "__init__")


class _Once:
    """Several functions of which the first call is told; then all of them are as they were."""

    def __init__(self, tell):
        self._tell = tell
        self._places = []
        self._done = False

    def watch(self, owners, name):
        """Stand in for `name` wherever the owners have it."""
        original = vars(owners[0]).get(name)
        if not callable(original):
            return

        @functools.wraps(original)
        def watched(*args, **kwargs):
            if self._done:
                return original(*args, **kwargs)
            self._done = True
            self._restore()
            began = ring.monotonic_ns()
            try:
                return original(*args, **kwargs)
            finally:
                self._end(began)

        for owner in owners:
            if vars(owner).get(name) is original:
                try:
                    setattr(owner, name, watched)
                    self._places.append((owner, name, watched, original))
                except Exception as error:  # noqa: BLE001
                    complain(error)

    def _restore(self):
        places, self._places = self._places, []
        for owner, name, ours, original in places:
            try:
                # Who put something of their own there since keeps it.
                if vars(owner).get(name) is ours:
                    setattr(owner, name, original)
            except Exception as error:  # noqa: BLE001
                complain(error)

    def _end(self, began):
        try:
            self._tell(began, ring.monotonic_ns())
        except Exception as error:  # noqa: BLE001
            complain(error)
