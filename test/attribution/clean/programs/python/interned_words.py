"""
Holds the words of a vocabulary of 6,000, interned as they are read. Bounded: texts are drawn from that vocabulary
alone, and nearly all of it is read in the first third of the run.
"""

import random
import sys

from pace import rounds

vocabulary = 6_000
known = set()
draw = random.Random(17)
read = 0
for number in rounds(130):
    for _ in range(900):
        word = sys.intern("".join(("a-rather-long-word-number-", str(draw.randrange(vocabulary)))))
        known.add(word)
        read += 1
print(read, len(known))
