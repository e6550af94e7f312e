"""Writes a snapshot with N trace entries to FILE, shaped like those of current PyTorch: 20,000 stacks of 25 frames, every entry with a list
of its own, some 200 bytes an entry. Usage: make-traces.py N FILE"""

import pickle
import random
import sys

count, path = int(sys.argv[1]), sys.argv[2]
choose = random.Random(1)
files = [f"/opt/conda/lib/python3.11/site-packages/torch/nn/modules/m{i}.py" for i in range(200)]
files += [f"/home/user/project/f{i}.py" for i in range(40)]
frames = [{"name": f"fn_{i}", "filename": choose.choice(files), "line": choose.randrange(1, 2000)} for i in range(3000)]
stacks = [[choose.choice(frames) for _ in range(25)] for _ in range(20000)]
base = 0x7F0000000000
now = 1_717_000_000_000_000
live = []
trace = []
for _ in range(count):
    now += choose.randrange(1, 50)
    if live and choose.random() < 0.6:
        address, size = live.pop(choose.randrange(len(live)))
        action = "free_completed"
    else:
        address, size, action = base + 512 * choose.randrange(1 << 24), 512 * choose.randrange(1, 1 << 14), "alloc"
        live.append((address, size))
    entry = {"action": action, "addr": address, "size": size, "stream": 0, "time_us": now}
    entry.update(compile_context="N/A", user_metadata="", frames=list(choose.choice(stacks)))
    trace.append(entry)
segments = []
for i in range(200):
    at = base + i * (20 << 20)
    blocks = [
        {
            "address": at + j * (1 << 20),
            "size": 1 << 20,
            "requested_size": (1 << 20) - 100,
            "state": "active_allocated" if j < 10 else "inactive",
            "frames": stacks[20 * i + j],
        }
        for j in range(20)
    ]
    segments.append(
        {
            "device": 0,
            "address": at,
            "total_size": 20 << 20,
            "allocated_size": 10 << 20,
            "active_size": 10 << 20,
            "requested_size": 10 << 20,
            "stream": 0,
            "segment_type": "large",
            "segment_pool_id": (0, 0),
            "is_expandable": False,
            "frames": stacks[i],
            "blocks": blocks,
        }
    )
with open(path, "wb") as file:
    snapshot = {"segments": segments, "device_traces": [trace], "allocator_settings": {}, "external_annotations": []}
    pickle.dump(snapshot, file, protocol=4)
