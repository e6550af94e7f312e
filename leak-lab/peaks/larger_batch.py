"""Training with a larger batch: `--after` keeps eight times the activations for the backward pass."""

import sys

import torch

torch.manual_seed(0)
WIDTH = 256


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        hidden = x * self.scale
        return torch.tanh(hidden)  # higher


def main(after):
    model = torch.nn.Sequential(*[Block() for _ in range(12)])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch = 8192 if after else 1024
    for _ in range(3):
        loss = model(torch.randn(batch, WIDTH)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main("--after" in sys.argv)
