"""
Holds compiled patterns in the cache of `re`. Bounded: `re` keeps at most 512, while the program makes four new ones in
each round, so the cache is full at two thirds of the run and then turns over.
"""

import re

from pace import rounds

matches = 0
for number in rounds(200, seconds=0.015):
    for part in range(4):
        name = "field_%d_%d" % (number, part)
        matches += re.search(r"^%s=(?P<value>[a-z]+|\d{1,8})(?:;|$)" % name, "%s=value;" % name) is not None
print(matches)
