"""Another optimizer: `--after` takes Adam, which keeps two more copies of the parameters."""

import sys

import torch

torch.manual_seed(0)
WIDTH = 1024


def main(after):
    model = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH) for _ in range(6)])
    kind = torch.optim.Adam if after else torch.optim.SGD
    optimizer = kind(model.parameters(), lr=0.001)
    for _ in range(3):
        loss = model(torch.randn(8, WIDTH)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # higher


if __name__ == "__main__":
    main("--after" in sys.argv)
