"""1 GiB that is held for 20 ms, in a process that lives on for 150 ms."""

import mmap
import time

block = mmap.mmap(-1, 1 << 30)
for at in range(0, 1 << 30, 4096):
    block[at] = 1
time.sleep(0.02)
block.close()
time.sleep(0.15)
