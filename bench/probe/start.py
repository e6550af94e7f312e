"""Start-up: `python -c pass` in turn without and with the probe. Prints {"bare": [[wall ms, CPU ms], ...], "probe": [...]}.

usage: start.py PAIRS PYTHON INJECT-DIRECTORY PROBE-DIRECTORY (the environment decides whether bytecode is written)
"""

import json
import os
import sys
import time

pairs, python, inject, directory = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH" and not name.startswith("STORMLOG_GATE")}
probe = dict(bare, PYTHONPATH=inject, STORMLOG_GATE_PROBE_DIR=directory)


def start(environment):
    began = time.perf_counter_ns()
    pid = os.posix_spawn(python, [python, "-c", "pass"], environment)
    _, status, used = os.wait4(pid, 0)
    if status != 0:
        raise SystemExit("the interpreter failed: %d" % status)
    return [(time.perf_counter_ns() - began) / 1e6, (used.ru_utime + used.ru_stime) * 1e3]


for _ in range(5):
    start(bare)
    start(probe)
taken = {"bare": [], "probe": []}
for pair in range(pairs):
    # The order alternates: the second process finds warmer caches.
    for name, environment in sorted((("bare", bare), ("probe", probe)), reverse=pair % 2 == 1):
        taken[name].append(start(environment))
print(json.dumps(taken))
