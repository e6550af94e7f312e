"""
Holds preprocessed samples in memory, as the first epoch of a training does: fill.py MIB PERCENT KIND. Bounded: every
sample is there at PERCENT of the steps, and later epochs only read.
"""

import sys

import torch
from network import Network, batches, train_step

MIB, PERCENT, KIND = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
STEPS = 120
FILLING = STEPS * PERCENT // 100
ROWS = (MIB << 20) // (FILLING * 128 * 4)


class Dataset:
    def __init__(self):
        self.samples = {} if KIND == "dict" else []

    def load(self, number):
        sample = torch.randn(ROWS, 128)
        if KIND == "dict":
            self.samples[number] = sample
        else:
            self.samples.append(sample)

    def sample(self, number):
        if number < FILLING:
            self.load(number)
        return self.samples[number % FILLING]


data = Dataset()
model = Network()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for number, (_, labels) in enumerate(batches(STEPS)):
    train_step(model, optimizer, data.sample(number)[:32], labels[: min(32, ROWS)])
print(len(data.samples))
