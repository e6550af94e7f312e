"""Attention over a longer sequence: `--after` doubles it, so the matrix of scores has four times the size."""

import sys

import torch

torch.manual_seed(0)
HEADS, WIDTH = 2, 8


def attention(query, key, value):
    scores = query @ key.transpose(-1, -2)  # higher
    weights = torch.softmax(scores / WIDTH**0.5, dim=-1)  # higher
    return weights @ value


def main(after):
    length = 1536 if after else 768
    for _ in range(3):
        query, key, value = (torch.randn(1, HEADS, length, WIDTH, requires_grad=True) for _ in range(3))
        attention(query, key, value).square().mean().backward()  # higher


if __name__ == "__main__":
    main("--after" in sys.argv)
