"""A small PyTorch training loop. usage: train.py STEPS"""

import sys

import torch

torch.set_num_threads(1)
torch.manual_seed(0)
network = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
optimizer = torch.optim.Adam(network.parameters())
inputs, labels = torch.randn(512, 64), torch.randint(10, (512,))
for step in range(int(sys.argv[1])):
    pick = torch.arange(32) + (step * 32) % 480
    loss = torch.nn.functional.cross_entropy(network(inputs[pick]), labels[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
