"""
Holds a cache that is filled evenly and then only read: fill.py MIB PERCENT KIND. Bounded: it stops growing at PERCENT
of the rounds, when it holds MIB.
"""

import sys
from collections import deque

from pace import file_step, rounds

MIB, PERCENT, KIND = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
ROUNDS = 140
FILLING = ROUNDS * PERCENT // 100
ENTRY = (MIB << 20) // (4 * FILLING)


class Store:
    def __init__(self):
        self.rows = []

    def add(self, key, entry):
        self.rows.append((key, entry))


def collector():
    known = []

    def add(key, entry):
        known.append((key, entry))

    return add


by_key = {}
recent = deque()
store = Store()
ADD = {"dict": by_key.__setitem__, "deque": lambda key, entry: recent.append(entry), "attribute": store.add,
       "closure": collector()}[KIND]  # fmt: skip


def load(key):
    return bytearray(b"entry %08d" % key) + bytearray(ENTRY)


for number in rounds(ROUNDS, report=file_step if KIND in ("dict", "closure") else None):
    if number < FILLING:
        for part in range(4):
            ADD(4 * number + part, load(4 * number + part))
