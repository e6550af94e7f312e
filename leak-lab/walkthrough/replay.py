"""Writes a recording of three ranks on GPUs, as Stormlog leaves it: what a CPU cannot show, to try the analysis on.

Rank 0 holds more and more memory that its allocator does not know of, with three spikes; the other ranks are well, until one
after the other jumps. Nothing here was measured: the numbers are made, and the same on every machine.

    python replay.py DIRECTORY
"""

import json
import os
import sys

MIB = 1024 * 1024
START_NS = 1700000000 * 10**9
INTERVAL_MS = 100
SAMPLES = 72
TOTAL = 16 * 1024 * MIB
SPIKES = (18, 37, 55)
# Sample from which on the other ranks hold more.
JUMPS = {1: 20, 2: 23}


def memory(rank, index):
    """Reserved by the allocator, and used on the device beyond it, bytes."""
    if rank == 0:
        gap = (320 + 10 * index) * MIB
        if index in SPIKES:
            gap += 384 * MIB
        return (850 + 10 * index) * MIB, gap
    jump = 280 * MIB if index >= JUMPS[rank] else 0
    return 900 * MIB + jump, 128 * MIB


def event(rank, index):
    reserved, gap = memory(rank, index)
    allocated = reserved - 64 * MIB
    return {
        "schema_version": 2,
        "timestamp_ns": START_NS + index * INTERVAL_MS * 10**6,
        "event_type": "sample",
        "collector": "stormlog.cuda_tracker",
        "sampling_interval_ms": INTERVAL_MS,
        "pid": 4000 + rank,
        "host": "replay",
        "job_id": "walkthrough",
        "rank": rank,
        "local_rank": rank,
        "world_size": 1 + len(JUMPS),
        "device_id": rank,
        "allocator_allocated_bytes": allocated,
        "allocator_reserved_bytes": reserved,
        "allocator_active_bytes": None,
        "allocator_inactive_bytes": None,
        "allocator_change_bytes": 0,
        "device_used_bytes": reserved + gap,
        "device_free_bytes": TOTAL - reserved - gap,
        "device_total_bytes": TOTAL,
        "context": None,
        "metadata": {"backend": "cuda"},
    }


def main(directory):
    os.makedirs(directory, exist_ok=True)
    for rank in [0] + sorted(JUMPS):
        path = os.path.join(directory, "rank%d.json" % rank)
        with open(path, "w", encoding="utf-8") as file:
            json.dump([event(rank, index) for index in range(SAMPLES)], file, indent=0)
    print("%d ranks, %d samples each, in %s" % (1 + len(JUMPS), SAMPLES, directory))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: replay.py DIRECTORY")
    main(sys.argv[1])
