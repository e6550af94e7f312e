"""
Holds a moving average of the weights, a second model of 3 MiB that is made at 30 % of the steps. Bounded: it is made
once and updated in place.
"""

import copy

import torch
from network import Network, batches, train_step


class Trainer:
    def __init__(self):
        self.model = Network(width=768)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.average = None

    def step(self, inputs, labels):
        train_step(self.model, self.optimizer, inputs, labels)
        if self.average is not None:
            with torch.no_grad():
                for mean, value in zip(self.average.parameters(), self.model.parameters()):
                    mean.lerp_(value, 0.05)

    def begin_average(self):
        self.average = copy.deepcopy(self.model)


trainer = Trainer()
for number, (inputs, labels) in enumerate(batches(80, rows=8)):
    if number == 24:
        trainer.begin_average()
    trainer.step(inputs, labels)
print(trainer.average is not None)
