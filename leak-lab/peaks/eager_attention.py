"""Attention in evaluation: `--after` computes all scores at once, else those of some queries at a time."""

import sys

import torch

torch.manual_seed(0)
HEADS, LENGTH, WIDTH, CHUNK = 4, 1024, 16, 64


class Attention(torch.nn.Module):
    def __init__(self, eager):
        super().__init__()
        self.eager = eager
        self.mix = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        query = self.mix(x)
        if self.eager:
            weights = torch.softmax(query @ x.transpose(-1, -2), dim=-1)  # higher
            return weights @ x
        return torch.cat([torch.softmax(part @ x.transpose(-1, -2), dim=-1) @ x for part in query.split(CHUNK, dim=-2)], dim=-2)


def main(after):
    model = Attention(after).eval()
    with torch.no_grad():
        for _ in range(6):
            model(torch.randn(1, HEADS, LENGTH, WIDTH))


if __name__ == "__main__":
    main("--after" in sys.argv)
