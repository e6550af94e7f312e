"""
Holds the outputs of an evaluation, 5 MiB, until its figure is computed. Bounded: there are five evaluations in 120
steps, and the list ends with the function.
"""

import torch
from network import Network, batches, train_step


@torch.no_grad()
def evaluate(model):
    outputs = []
    for inputs, _ in batches(16, rows=1024, seconds=0.002):
        outputs.append(torch.cat([model(inputs)] * 8, dim=1))
    return torch.cat(outputs).argmax(1).float().mean().item()


model = Network()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
best = 0.0
for step, (inputs, labels) in enumerate(batches(120), 1):
    train_step(model, optimizer, inputs, labels)
    if step % 23 == 0:
        best = max(best, evaluate(model))
print(best > 0)
