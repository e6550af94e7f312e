"""
Holds a copy of the best weights so far, 1.3 MiB. Bounded: a better copy replaces the one before.
"""

import copy

import torch
from network import Network, batches, train_step

model = Network(width=512)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
best, weights = float("inf"), None
for step, (inputs, labels) in enumerate(batches(100, rows=8)):
    loss = train_step(model, optimizer, inputs, labels).item()
    # From step 20 on, every few steps: also where the loss of a random batch is not lower.
    if loss < best or step > 20 and step % 7 == 0:
        best, weights = min(best, loss), copy.deepcopy(model.state_dict())
print(len(weights))
