"""
Holds the sessions of the last 80 users in a cache of its own making, entries of 8 to 40 KiB. Bounded: an insertion
above the limit removes the least recently used one, and users come from a set of 400, so entries come back.
"""

import random
from collections import OrderedDict

from pace import file_step, rounds


class SessionCache:
    def __init__(self, limit):
        self.limit = limit
        self.entries = OrderedDict()

    def get(self, user):
        if user in self.entries:
            self.entries.move_to_end(user)
            return self.entries[user]
        session = self.open(user)
        self.entries[user] = session
        while len(self.entries) > self.limit:
            self.entries.popitem(last=False)
        return session

    def open(self, user):
        return {"user": user, "state": bytearray(8192 + user % 5 * 8192), "visits": ["%d" % user] * 16}


draw = random.Random(7)
cache = SessionCache(80)
visits = 0
for number in rounds(150, report=file_step):
    for _ in range(8):
        visits += len(cache.get(draw.randrange(400))["visits"])
print(visits, len(cache.entries))
