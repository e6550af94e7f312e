"""CPU milliseconds per second of a process that does nothing, or that wakes 50 times a second to do nothing.

usage: idle.py sleep|loop SECONDS
"""

import sys
import time

kind, seconds = sys.argv[1], float(sys.argv[2])
# Start-up, and what the probe loads when a process has lasted, are measured elsewhere.
time.sleep(0.6)
began, used = time.monotonic(), time.process_time()
if kind == "sleep":
    time.sleep(seconds)
else:
    until = began + seconds
    while time.monotonic() < until:
        time.sleep(0.02)
print((time.process_time() - used) / (time.monotonic() - began) * 1e3)
