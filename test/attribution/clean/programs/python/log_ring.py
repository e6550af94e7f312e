"""
Holds the last 3,000 log records for a crash report. Bounded: `deque(maxlen=3000)` drops the oldest; it is full at about
half of the run, and messages vary in length.
"""

import logging
from collections import deque

from pace import rounds


class Ring(logging.Handler):
    def __init__(self, size):
        super().__init__()
        self.records = deque(maxlen=size)

    def emit(self, record):
        self.records.append((record.created, record.levelname, record.getMessage()))


ring = Ring(3000)
log = logging.getLogger("service")
log.setLevel(logging.INFO)
log.propagate = False
log.addHandler(ring)
for number in rounds(150):
    for part in range(40):
        log.info("request %d.%d took %d ms: %s", number, part, part * 3 % 17, "x" * (200 + 37 * part % 300))
print(len(ring.records))
