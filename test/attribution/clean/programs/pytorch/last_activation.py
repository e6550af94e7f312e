"""
Holds the newest activation of each layer, which a forward hook writes to an attribute. Bounded: each call replaces the
one before, detached from its graph.
"""

import torch
from network import Network, batches, train_step


def watch(module, _inputs, output):
    module.newest = output.detach().clone()


model = Network(width=256)
handles = [layer.register_forward_hook(watch) for layer in model.modules() if isinstance(layer, torch.nn.Linear)]
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for inputs, labels in batches(110, rows=64):
    train_step(model, optimizer, inputs, labels)
print(len(handles), tuple(model.head.newest.shape))
