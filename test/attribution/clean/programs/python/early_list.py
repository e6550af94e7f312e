"""
Holds a list that is filled in the first 30 of 160 rounds, 64 KiB in each. Bounded: later rounds only read it.
"""

from pace import rounds

samples = []
total = 0
for number in rounds(160):
    if number < 30:
        samples.append(bytearray(1 << 16))
    total += len(samples[number % len(samples)])
print(total)
