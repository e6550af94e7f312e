"""
Holds rows until there are enough for a batch, 4.4 MiB, then writes and drops them. Bounded: the list is emptied every
22 of 160 rounds, which is a little less than the distance of the moments at which an attribution run looks.
"""

import os

from pace import file_step, rounds

pending = []


def flush():
    with open(os.devnull, "wb") as out:
        for row in pending:
            out.write(row)
    pending.clear()


for number in rounds(160, report=file_step):
    pending.extend(bytearray(20 << 10) for _ in range(10))
    if number % 22 == 21:
        flush()
flush()
