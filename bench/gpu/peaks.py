"""A training loop whose peak one environment variable makes larger: usage peaks.py cuda|cpu.

    BATCH=N         samples of a step: twice as many hold twice the activations
    STEPS=N         of training, and of evaluation
    OPTIMIZER=adam  holds two numbers for each parameter
    KEPT=1          the predictions of an evaluation are kept until its end

Lines that hold more with a variable end with its name in brackets.
"""

import os
import sys

import torch

device = sys.argv[1]
WIDTH, BLOCKS, STEPS, DEFAULT = (64, 4, 3, 4096) if device == "cpu" else (1024, 8, 40, 4096)
BATCH, STEPS = int(os.environ.get("BATCH") or DEFAULT), int(os.environ.get("STEPS") or STEPS)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        hidden = self.up(x)  # [BATCH]
        hidden = torch.nn.functional.gelu(hidden)  # [BATCH]
        return x + self.down(hidden)


def train(model, optimizer):
    for _ in range(STEPS):
        loss = model(torch.randn(BATCH, WIDTH, device=device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # [OPTIMIZER]


def evaluate(model):
    kept = []
    with torch.no_grad():
        for _ in range(STEPS):
            predicted = model(torch.randn(BATCH, WIDTH, device=device))
            if os.environ.get("KEPT"):
                kept.append(torch.cat([predicted] * 16))  # [KEPT]
    return len(kept)


torch.manual_seed(0)
model = torch.nn.Sequential(*[Block() for _ in range(BLOCKS)]).to(device)
optimizer = (torch.optim.Adam if os.environ.get("OPTIMIZER") == "adam" else torch.optim.SGD)(model.parameters(), lr=1e-4)
train(model, optimizer)
evaluate(model)
