"""Activation checkpointing: `--after` turns it off, so the activations of all blocks are kept for the backward pass."""

import sys

import torch
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
WIDTH = 256


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        for _ in range(4):
            x = torch.tanh(x * self.scale)  # higher
        return x


def main(after):
    blocks = torch.nn.ModuleList(Block() for _ in range(4))
    optimizer = torch.optim.SGD(blocks.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(8192, WIDTH, requires_grad=True)
        for block in blocks:
            x = block(x) if after else checkpoint(block, x)
        optimizer.zero_grad()
        x.square().mean().backward()
        optimizer.step()


if __name__ == "__main__":
    main("--after" in sys.argv)
