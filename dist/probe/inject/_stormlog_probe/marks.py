"""
Times at which memory outside the allocator appears, for the info file: a process group is made, or a module that communicates
(its communicators are created within). Each is reported once, and its wrapper is removed afterwards. Nothing in here touches a device.
"""

import functools
import sys

from . import complain, ring

#: Functions of torch.distributed that make a process group.
_GROUPS = ("init_process_group", "new_group")


def hook(report):
    """Have `report({name: monotonic ns})` called for the first calls into torch.distributed. torch is imported already."""
    names = ("torch.distributed.distributed_c10d", "torch.distributed")
    owners = [sys.modules[name] for name in names if sys.modules.get(name) is not None]
    if owners:
        group = _Once(lambda began, ended: report({"mark.group": began, "mark.group_end": ended}))
        for name in _GROUPS:
            group.watch(owners, name)
    wrapping = sys.modules.get("torch.nn.parallel.distributed")
    module = getattr(wrapping, "DistributedDataParallel", None)
    if module is not None:
        wrap = _Once(lambda began, ended: report({"mark.wrap": began, "mark.wrap_end": ended}))
        wrap.watch([module], "__init__")


class _Once:
    """Several functions of which the first call is reported. All are restored by then."""

    def __init__(self, report):
        self._report = report
        self._replaced = []
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
                    self._replaced.append((owner, name, watched, original))
                except Exception as error:  # noqa: BLE001
                    complain(error)

    def _restore(self):
        replaced, self._replaced = self._replaced, []
        for owner, name, ours, original in replaced:
            try:
                # A replacement that the program made since is kept.
                if vars(owner).get(name) is ours:
                    setattr(owner, name, original)
            except Exception as error:  # noqa: BLE001
                complain(error)

    def _end(self, began):
        try:
            self._report(began, ring.monotonic_ns())
        except Exception as error:  # noqa: BLE001
            complain(error)
