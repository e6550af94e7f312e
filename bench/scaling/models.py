"""Training steps of a small model on the CPU for SECONDS: usage models.py mlp|cnn|transformer|lstm, BATCH samples a step.

The C heap is sampled, and a step is at its peak for a moment: the peak of a few short steps is not seen.
"""

import os
import sys
import time

import torch
from torch import nn

name = sys.argv[1]
BATCH, SECONDS = int(os.environ["BATCH"]), 5


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.LSTM(64, 128, batch_first=True), nn.Linear(128, 8)

    def forward(self, x):
        return self.head(self.cell(x)[0])


MODELS = {
    "mlp": lambda: (nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(256, 256), nn.GELU())]), (256,)),
    "cnn": lambda: (
        nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        ),
        (3, 48, 48),
    ),
    "transformer": lambda: (
        nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 256, batch_first=True), 2, enable_nested_tensor=False),
        (48, 64),
    ),
    "lstm": lambda: (Recurrent(), (32, 64)),
}
torch.manual_seed(0)
torch.set_num_threads(1)
model, shape = MODELS[name]()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
until = time.monotonic() + SECONDS
while time.monotonic() < until:
    optimizer.zero_grad()
    model(torch.randn(BATCH, *shape)).square().mean().backward()
    optimizer.step()
