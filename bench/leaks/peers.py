"""Judges the program beside it by another tool, without pauses: python peers.py TOOL CALLS

Prints {"red": whether the tool's rule finds a leak, "line": "FILE:LINE" that it names or null}. A tenth of the calls is
made first, outside of what is judged. TOOL is `rss`, `tracemalloc` or `memray`.
"""

import gc
import json
import os
import sys
import tempfile

from program import call

LIMIT = 1024 * 1024
tool, calls = sys.argv[1], int(sys.argv[2])


def repeat(count):
    for _ in range(count):
        call()
    gc.collect()


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def rss():
    before = resident()
    repeat(calls - warm)
    return resident() > 1.1 * before, None


def traced():
    import tracemalloc

    tracemalloc.start()
    before = tracemalloc.take_snapshot()
    repeat(calls - warm)
    own = [tracemalloc.Filter(False, tracemalloc.__file__)]
    changes = tracemalloc.take_snapshot().filter_traces(own).compare_to(before.filter_traces(own), "lineno")
    first = max(changes, key=lambda change: change.size_diff)
    frame = first.traceback[0]
    red = sum(change.size_diff for change in changes) > LIMIT
    return red, f"{frame.filename}:{frame.lineno}" if red else None


def recorded():
    import memray

    with tempfile.TemporaryDirectory() as directory:
        file = os.path.join(directory, "allocations.bin")
        with memray.Tracker(file, trace_python_allocators=True):
            repeat(calls - warm)
        sizes = {}
        for record in memray.FileReader(file).get_leaked_allocation_records(merge_threads=True):
            frames = record.stack_trace(max_stacks=1)
            where = f"{frames[0][1]}:{frames[0][2]}" if frames else None
            sizes[where] = sizes.get(where, 0) + record.size
    first = max(sizes, key=sizes.get, default=None)
    red = sizes.get(first, 0) > LIMIT
    return red, first if red else None


warm = max(1, calls // 10)
repeat(warm)
red, line = {"rss": rss, "tracemalloc": traced, "memray": recorded}[tool]()
print(json.dumps({"red": red, "line": line}), flush=True)
os._exit(0)
