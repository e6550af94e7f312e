"""
Holds free buffers by size class, 4 KiB to 1 MiB. Bounded: there are nine classes of at most four buffers, and a buffer
that is given back to a full class is dropped. The largest class is first used at half of the run.
"""

import random

from pace import file_step, rounds

MAX_FREE = 4
free = {}


def take(size):
    shift = max(12, (size - 1).bit_length())
    held = free.setdefault(shift, [])
    return shift, held.pop() if held else bytearray(1 << shift)


def give_back(shift, buffer):
    if len(free[shift]) < MAX_FREE:
        free[shift].append(buffer)


draw = random.Random(13)
total = 0
for number in rounds(140, report=file_step):
    largest = min(20, 12 + number // 8)
    taken = [take(draw.randrange(1, 1 << draw.randrange(12, largest + 1))) for _ in range(6)]
    total += sum(len(buffer) for _, buffer in taken)
    for shift, buffer in taken:
        give_back(shift, buffer)
print(total)
