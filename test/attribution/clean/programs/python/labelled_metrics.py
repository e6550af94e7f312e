"""
Holds counters and a histogram of 60 buckets for each label that was seen. Bounded: there are 16 routes, 6 methods and
12 hosts, of which every combination was seen at half of the run.
"""

from pace import file_step, rounds

LABELS = [(route, method, host) for route in range(16) for method in range(6) for host in range(12)]
metrics = {}


def observe(label, seconds):
    if label not in metrics:
        metrics[label] = {"count": 0, "buckets": [0.0] * 60, "name": "requests{%d,%d,%d}" % label}
    entry = metrics[label]
    entry["count"] += 1
    entry["buckets"][int(seconds * 60) % 60] += seconds


for number in rounds(144, report=file_step):
    for part in range(16):
        observe(LABELS[(16 * number + part) % len(LABELS)], part / 16)
print(len(metrics))
