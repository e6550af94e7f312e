"""The loop a Python tool would write: cached psutil.Process objects, memory_info() of each at every tick, absolute deadlines.

Usage: psutil_loop.py PERIOD_S DURATION_S PID...; prints ticks and CPU seconds of the loop as JSON.
"""

import json
import sys
import time

import psutil


def main() -> None:
    period, duration = float(sys.argv[1]), float(sys.argv[2])
    processes = [psutil.Process(int(pid)) for pid in sys.argv[3:]]
    for process in processes:
        process.memory_info()
    ticks = 0
    cpu = time.process_time()
    start = deadline = time.monotonic()
    while deadline - start < duration:
        total = 0
        for process in processes:
            total += process.memory_info().rss
        ticks += 1
        deadline += period
        rest = deadline - time.monotonic()
        if rest > 0:
            time.sleep(rest)
    print(json.dumps({"ticks": ticks, "cpu_s": time.process_time() - cpu}))


main()
