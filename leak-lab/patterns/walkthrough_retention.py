"""The walkthrough's leak: hidden activations and logits cached for debugging.

A small perceptron instead of ResNet. `detach().clone()` looks careful and copies on the device; loss and accuracy stay fine.

Keeps with every step: the hidden layer's output, and with every fourth the logits too (tiny: 128 KiB, article: 4 MiB).
"""

from collections import deque

from leaklab.resnet import CLASSES, FLOAT
from leaklab.training import main
import torch

# Hidden units for each channel of the scale's width.
HIDDEN = 128


class Perceptron(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.AvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(3 * 8 * 8, HIDDEN * width), torch.nn.ReLU()
        )
        self.head = torch.nn.Linear(HIDDEN * width, CLASSES)

    def forward(self, images):
        return self.head(self.body(images))


def leaky(lab):
    # leak begins
    hidden_cache, logit_cache = [], []

    def observe(hidden, logits):
        hidden_cache.append(hidden.detach().clone())
        if lab.step % 4 == 0:
            logit_cache.append(logits.detach().clone())

    # leak ends
    return training_step(lab, observe)


def fixed(lab):
    summaries = deque(maxlen=24)

    def observe(hidden, logits):
        values = hidden.detach()
        summaries.append((values.mean().item(), values.std().item(), logits.detach().max().item()))

    return training_step(lab, observe)


def training_step(lab, observe):
    def step(images, labels):
        lab.optimizer.zero_grad(set_to_none=True)
        hidden = lab.model.body(images)
        logits = lab.model.head(hidden)
        loss = lab.criterion(logits, labels)
        loss.backward()
        lab.optimizer.step()
        observe(hidden, logits)
        return loss.detach()

    return step


def keeps(lab):
    return lab.batch * FLOAT * (HIDDEN * lab.width + CLASSES / 4)


if __name__ == "__main__":
    main(leaky, fixed, keeps, network=Perceptron)
