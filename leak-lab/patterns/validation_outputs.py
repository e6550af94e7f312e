"""Validation outputs with their graphs: the one that ends runs.

A second forward pass in every step, only to see the prediction. Without `torch.no_grad()` it builds a graph that waits for a
backward pass which never comes, and one kept output holds everything that graph has saved.

Keeps with every step: all activations of a forward pass, its logits, and the batch, whole even where only a slice of it was
looked at (tiny, which looks at two images: 1.5 MiB, article: 0.6 GiB).
"""

from collections import deque

from leaklab.resnet import CLASSES, FLOAT, graph_bytes, image_bytes
from leaklab.training import main
import torch


def leaky(lab):
    predictions = []

    # leak begins
    def step(images, labels):
        loss = lab.train_step(images, labels)
        outputs = lab.model(images[: lab.looked_at])
        predictions.append(outputs)
        return loss

    # leak ends
    return step


def fixed(lab):
    confidences = deque(maxlen=24)

    def step(images, labels):
        loss = lab.train_step(images, labels)
        with torch.no_grad():
            outputs = lab.model(images[: lab.looked_at])
        confidences.append(outputs.softmax(dim=1).amax(dim=1).mean().item())
        return loss

    return step


def keeps(lab):
    looked_at = lab.looked_at
    return graph_bytes(lab.width, looked_at) - image_bytes(looked_at) + image_bytes(lab.batch) + looked_at * CLASSES * FLOAT


if __name__ == "__main__":
    main(leaky, fixed, keeps)
