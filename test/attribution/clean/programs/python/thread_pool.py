"""
Holds a scratch buffer of 512 KiB for each thread of a pool. Bounded: the pool starts a thread only when none is idle,
and never more than 8.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from pace import rounds

local = threading.local()


def work(number):
    if not hasattr(local, "scratch"):
        local.scratch = bytearray(1 << 19)
    local.scratch[number % len(local.scratch)] = 1
    time.sleep(0.005)
    return number


with ThreadPoolExecutor(max_workers=8) as pool:
    done = 0
    for number in rounds(120, seconds=0.015):
        done += len(list(pool.map(work, range(1 + number // 10))))
print(done)
