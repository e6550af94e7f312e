"""Trains a small network on random data: a stand-in for your own loop. It needs no code for the measurement."""

import argparse

import torch
from torch import nn


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=64)
    options = parser.parse_args()

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    losses = []
    for step in range(options.steps):
        inputs = torch.randn(options.batch, 256, device=device)
        targets = torch.randint(10, (options.batch,), device=device)
        loss = nn.functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        # .item() keeps a number. The tensor itself would keep every step's graph alive.
        losses.append(loss.item())
        if step % 50 == 0:
            print(f"step {step} loss {losses[-1]:.3f}", flush=True)


if __name__ == "__main__":
    main()
