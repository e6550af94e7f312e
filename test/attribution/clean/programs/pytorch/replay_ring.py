"""
Holds the last 48 batches of experience, 96 KiB each. Bounded: `deque(maxlen=48)` drops the oldest; it is full at 40 %
of the steps and turns over from then on.
"""

import random
from collections import deque

import torch
from network import Network, batches, train_step

draw = random.Random(7)
memory = deque(maxlen=48)
model = Network()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for inputs, labels in batches(120):
    memory.append({"states": torch.randn(192, 128), "labels": torch.randint(0, 10, (192,))})
    replayed = memory[draw.randrange(len(memory))]
    train_step(model, optimizer, replayed["states"], replayed["labels"])
print(len(memory))
