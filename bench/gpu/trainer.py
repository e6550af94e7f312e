"""A training loop that continues on request: usage trainer.py SOCKET small|large|churn|stand-in.

Over the Unix socket it first sends its pid. Then each line is a number of steps, answered by {"wall", "cpu"}: the seconds they took.

    small     kernels so short that the processor that launches them is what takes the time: anything that disturbs it shows
    large     matrix products of milliseconds: the GPU is what takes the time
    churn     small, and every tenth step the allocator gives its memory back and takes it again from the driver
    stand-in  arithmetic in Python, without a GPU
"""

import json
import os
import socket
import sys
import time

where, workload = sys.argv[1], sys.argv[2]
SHAPES = {"small": (256, 1024, 256), "large": (2048, 4096, 2048), "churn": (256, 1024, 256)}


def training():
    import torch

    features, hidden, batch = SHAPES[workload]
    torch.manual_seed(3)
    network = torch.nn.Sequential(
        torch.nn.Linear(features, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 10)
    ).cuda()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-4)
    inputs = torch.randn(batch, features, device="cuda")
    labels = torch.randint(0, 10, (batch,), device="cuda")

    def steps(count):
        for step in range(count):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(inputs), labels).backward()
            optimizer.step()
            if workload == "churn" and step % 10 == 9:
                torch.cuda.empty_cache()
                for size in (8, 32, 128):
                    torch.empty(size << 20, dtype=torch.uint8, device="cuda")
        torch.cuda.synchronize()

    return steps


def standing_in():
    def steps(count):
        for step in range(count):
            total = 0
            for i in range(2000):
                total += i * step

    return steps


steps = standing_in() if workload == "stand-in" else training()
line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
line.connect(where)
talk = line.makefile("rw")
talk.write(json.dumps({"pid": os.getpid()}) + "\n")
talk.flush()
for order in talk:
    wall, cpu = time.perf_counter(), time.process_time()
    steps(int(order))
    talk.write(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}) + "\n")
    talk.flush()
