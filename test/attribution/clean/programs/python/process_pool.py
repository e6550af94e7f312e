"""
Holds a lookup table of 2 MiB in each of two worker processes. Bounded: a worker makes its table with its first task,
and the pool has two workers to the end.
"""

import multiprocessing

from pace import rounds

table = None


def lookup(number):
    global table
    if table is None:
        table = [bytearray(1 << 12) for _ in range(512)]
    return len(table[number % len(table)])


if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        total = 0
        for number in rounds(110):
            total += sum(pool.map(lookup, range(number, number + 4)))
    print(total)
