"""Writes records into a ring of the probe without a pause, until it is killed: record i has the values i, i ^ 0x5555 and step i."""

import signal
import sys

signal.alarm(900)
sys.path.insert(0, sys.argv[1])

from _stormlog_probe import ring  # noqa: E402

_, written = ring.create(sys.argv[2])
written.state(ring.STATE_ATTACHED)
number = 0
while True:
    written.put_heap(ring.monotonic_ns(), ring.TIMER, number, number ^ 0x5555, number)
    written.step(number)
    number += 1
