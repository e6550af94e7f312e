"""
Holds a cache that is filled evenly during the whole run: cache.py MIB KIND ROUNDS. Bounded: by the number of its keys,
all of which were looked up when it ends.
"""

import functools
import os
import sqlite3
import sys
from collections import Counter

from pace import rounds

MIB, KIND, ROUNDS = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
KEYS = 8 * ROUNDS
ENTRY = (MIB << 20) // KEYS

by_key, texts, counted, rows = {}, {}, Counter(), []
database = sqlite3.connect(":memory:")
database.execute("create table cache (key integer primary key, value blob)")


class Settings:
    pass


settings = Settings()
page = functools.lru_cache(maxsize=None)(lambda key: os.urandom(ENTRY))
bounded = functools.lru_cache(maxsize=KEYS)(lambda key: b"%d" % key + b"x" * ENTRY)
ADD = {
    "dict": lambda key: by_key.__setitem__(key, os.urandom(ENTRY)),
    "texts": lambda key: texts.__setitem__("key %d" % key, "%d" % key + "y" * ENTRY),
    "counter": lambda key: counted.update(["%d" % key + "z" * ENTRY]),
    "rows": lambda key: rows.append(bytearray(ENTRY)),
    "attributes": lambda key: setattr(settings, "key_%d" % key, bytes(ENTRY)),
    "unbounded": page,
    "bounded": bounded,
    "sqlite": lambda key: database.execute("insert into cache values (?, ?)", (key, os.urandom(ENTRY))),
}[KIND]

for number in rounds(ROUNDS):
    for part in range(8):
        ADD(8 * number + part)
