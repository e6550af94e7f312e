"""What the trainings share: a small network, its data, and a pause after each step. Holds nothing that grows."""

import time

import torch

torch.manual_seed(7)
torch.set_num_threads(1)
criterion = torch.nn.CrossEntropyLoss()


class Network(torch.nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(128, width), torch.nn.ReLU(), torch.nn.Linear(width, width))
        self.head = torch.nn.Linear(width, 10)

    def forward(self, inputs):
        return self.head(torch.relu(self.body(inputs)))


def batches(steps, rows=32, seconds=0.012):
    for _ in range(steps):
        yield torch.randn(rows, 128), torch.randint(0, 10, (rows,))
        time.sleep(seconds)


def train_step(model, optimizer, inputs, labels):
    optimizer.zero_grad()
    loss = criterion(model(inputs), labels)
    loss.backward()
    optimizer.step()
    return loss
