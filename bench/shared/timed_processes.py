"""Runs processes in turn, in an order drawn for each round, and takes the wall and CPU time of each.

usage: timed_processes.py < JOB, a JSON object:
  {"competitors": [{"name", "argv", "env", "status"}], "rounds": N, "warmups": N, "seed": N, "cwd": DIRECTORY}
Prints {NAME: [[wall ms, CPU ms], ...]}, one pair a round. CPU time includes descendants that were waited for.
"""

import json
import os
import random
import sys
import time


def run(competitor):
    argv = competitor["argv"]
    silent = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    began = time.perf_counter_ns()
    pid = os.posix_spawnp(argv[0], argv, competitor["env"], file_actions=silent)
    _, status, used = os.wait4(pid, 0)
    wall = (time.perf_counter_ns() - began) / 1e6
    ended = os.waitstatus_to_exitcode(status)
    if ended != competitor["status"]:
        raise SystemExit("%s ended with %d, expected %d" % (" ".join(argv), ended, competitor["status"]))
    return [wall, (used.ru_utime + used.ru_stime) * 1e3]


job = json.load(sys.stdin)
os.chdir(job["cwd"])
draw = random.Random(job["seed"])
competitors = job["competitors"]
for _ in range(job["warmups"]):
    for competitor in competitors:
        run(competitor)
taken = {competitor["name"]: [] for competitor in competitors}
for _ in range(job["rounds"]):
    for competitor in draw.sample(competitors, len(competitors)):
        taken[competitor["name"]].append(run(competitor))
print(json.dumps(taken))
