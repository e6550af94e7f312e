"""
Holds a global table of 20 MiB, made at 40 % of the run at its first use. Bounded: `prepared` is called again and again
but makes it only once.
"""

from pace import rounds

TABLE = None


def prepared():
    global TABLE
    if TABLE is None:
        TABLE = {key: bytearray(1 << 15) for key in range(640)}
    return TABLE


total = 0
for number in rounds(120):
    if number >= 48:
        total += len(prepared()[number])
print(total)
