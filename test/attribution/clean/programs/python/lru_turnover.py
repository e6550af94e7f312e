"""
Holds the last 256 pages of 16 KiB in a `functools.lru_cache`. Bounded by its `maxsize`: it is full after a fifth of the
run, and then every new page takes the place of the oldest.
"""

from functools import lru_cache

from pace import rounds


@lru_cache(maxsize=256)
def page(number):
    return bytearray(b"page %08d" % number) + bytearray(1 << 14)


total = 0
for number in rounds(130):
    for entry in range(10):
        total += len(page(10 * number + entry))
print(total, page.cache_info().currsize)
