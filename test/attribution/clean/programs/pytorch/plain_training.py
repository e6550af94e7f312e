"""
Holds a network, the state of Adam and the last eight losses as numbers. Bounded: Adam makes its state in the first
step, and the history is a `deque(maxlen=8)`.
"""

from collections import deque

import torch
from network import Network, batches, train_step

model = Network()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 20)
history = deque(maxlen=8)
for inputs, labels in batches(120):
    history.append(train_step(model, optimizer, inputs, labels).item())
    schedule.step()
print(len(history))
