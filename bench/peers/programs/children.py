"""64 children that hold 8 MiB each at the same time for 100 ms."""

import mmap
import os
import time

ready, all_ready = os.pipe(), os.pipe()
children = []
for _ in range(64):
    pid = os.fork()
    if pid == 0:
        os.close(all_ready[1])
        block = mmap.mmap(-1, 8 << 20)
        for at in range(0, 8 << 20, 4096):
            block[at] = 1
        os.write(ready[1], b"x")
        os.read(all_ready[0], 1)
        time.sleep(0.1)
        os._exit(0)
    children.append(pid)
for _ in children:
    os.read(ready[0], 1)
os.close(all_ready[1])
for pid in children:
    os.waitpid(pid, 0)
