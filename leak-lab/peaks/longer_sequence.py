"""Attention over a longer sequence: `--after` doubles it, so the matrix of weights has four times the size."""

import sys

import torch

torch.manual_seed(0)
HEADS, WIDTH, LAYERS = 2, 8, 4


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        scores = (x * self.scale) @ x.transpose(-1, -2)
        return torch.softmax(scores, dim=-1) @ x  # higher


def main(after):
    model = torch.nn.Sequential(*[Attention() for _ in range(LAYERS)])
    length = 1280 if after else 640
    for _ in range(3):
        model(torch.randn(1, HEADS, length, WIDTH)).square().mean().backward()


if __name__ == "__main__":
    main("--after" in sys.argv)
