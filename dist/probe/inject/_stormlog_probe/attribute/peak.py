"""What the memory of one process consists of at its peak: the preloaded library's samples, and the devices' histories.

Unlike the attribution of a growth it traces nothing. The library keeps the live samples at the peak, and writes them at
the moments and at the end, so that a killed process has left a document.
"""

import os

from .attribution import complain
from .frames import Stacks
from .native import NativeStacks
from .schedule import Scheduled


class PeakMemory(Scheduled):
    """The attribution of one process in a run that looks for a peak."""

    def __init__(self, base_path, wanted):
        super().__init__(base_path, wanted, NativeStacks(Stacks()))

    def start(self):
        super().start()
        self.native.with_categories()

    def with_torch(self, torch):
        if self._torch is not torch:
            from .cuda import ENTRIES

            self._torch = torch
            self.follow_devices(torch, _nothing, ENTRIES)
            if self.native.categories is not None:
                self.native.categories.follow(torch)

    def optimizer(self, optimizer):
        if self.native.categories is not None:
            self.native.categories.optimizer(optimizer)

    def phase(self, name):
        if self.native.categories is None:
            return
        if name is None:
            self.native.categories.leave()
        else:
            self.native.categories.enter(name)

    def step(self, step):
        self.schedule.at_step(step)

    def take(self, moment, in_program):
        with self._taking:
            try:
                self.native.write(self.base, moment, None)
            except Exception as error:  # noqa: BLE001
                complain(error)

    def finish(self):
        self.schedule.stop()
        if self.pid != os.getpid():
            return
        try:
            if self.native.categories is not None:
                self.native.categories.finish()
        except Exception as error:  # noqa: BLE001
            complain(error)
        # Runs before the interpreter takes its threads apart.
        self.native.stop()
        last = len(self.schedule.at)
        self.take(last, True)
        for device in self.devices:
            device.snapshot("%s.snapshot.%d.pickle" % (self.base, last))


def _nothing():
    pass
