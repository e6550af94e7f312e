"""Runs one program and appends [wall ms, CPU ms] of it, from its start to its exit, to a file.

usage: python3 -I run_once.py FILE PROGRAM ARGUMENT... (isolated: it does not load the probe, the program does)
"""

import json
import os
import sys
import time

out, argv = sys.argv[1], sys.argv[2:]
began = time.perf_counter_ns()
pid = os.posix_spawnp(argv[0], argv, os.environ)
_, status, used = os.wait4(pid, 0)
wall = (time.perf_counter_ns() - began) / 1e6
with open(out, "a") as file:
    file.write(json.dumps([wall, (used.ru_utime + used.ru_stime) * 1e3]) + "\n")
sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)
