"""
Holds at most 64 results of 320 bytes in a dict, over 160 rounds whose keys never come again. Bounded: before an
insertion above the limit the oldest entry is deleted.
"""

from pace import rounds

LIMIT = 64
cache = {}


def compute(number):
    return {"number": number, "digest": bytes(256), "tags": ["round-%d" % number]}


def remember(number):
    if len(cache) >= LIMIT:
        del cache[next(iter(cache))]
    cache[number] = compute(number)
    return cache[number]


for number in rounds(160, seconds=0.024):
    remember(number)
print(len(cache))
