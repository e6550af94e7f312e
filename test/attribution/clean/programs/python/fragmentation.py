"""
Holds 1,200 strings of 50 bytes to 12 KiB in fixed slots, a tenth of which is replaced in each round. Bounded: a new
string takes the place of an old one; the heap fragments, but what is alive stays at about 7 MiB.
"""

import random

from pace import rounds

draw = random.Random(19)
slots = [b"" for _ in range(1200)]
for number in rounds(140):
    for _ in range(120):
        slots[draw.randrange(len(slots))] = bytes(draw.randrange(50, 12_288))
print(sum(map(len, slots)) > 0)
