"""Loads FILE with CPython's own pickle; prints what it took as JSON. Usage: cpython.py FILE"""

import json
import pickle
import resource
import sys
import time

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
wall, cpu = time.perf_counter(), time.process_time()
with open(sys.argv[1], "rb") as file:
    snapshot = pickle.load(file)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(
    json.dumps(
        {
            "entries": len(snapshot["device_traces"][0]),
            "wallMs": 1000 * wall,
            "cpuMs": 1000 * cpu,
            "peakBytes": peak,
            "risenBytes": peak - before,
        }
    )
)
