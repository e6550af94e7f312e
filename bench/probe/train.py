"""A small network trained on the CPU: each line of standard input is a number of steps, answered by their wall and CPU seconds."""

import sys
import time

import torch

torch.set_num_threads(1)
torch.manual_seed(3)
network = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
inputs = torch.randn(512, 64)
labels = torch.randint(0, 10, (512,))

for line in sys.stdin:
    wall, cpu = time.perf_counter(), time.process_time()
    for step in range(int(line)):
        pick = torch.arange(32) + (step * 32) % 480
        loss = torch.nn.functional.cross_entropy(network(inputs[pick]), labels[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(time.perf_counter() - wall, time.process_time() - cpu, flush=True)
