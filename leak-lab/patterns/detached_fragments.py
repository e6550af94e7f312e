"""Fragments of graphs that begin in detached tensors.

Features are detached and made to require gradients again, to look at the saliency of each batch. That is the root of a small
graph of its own, which no backward pass ever frees: `detach` cuts a tensor off, it does not let go of it.

Keeps with every step: the last stage's output twice, as root and as result of the fragment (tiny: 256 KiB, article: 8 MiB).
"""

from collections import deque

from leaklab.resnet import map_bytes
from leaklab.training import main
import torch


def leaky(lab):
    fragments = []

    # leak begins
    def look(maps):
        root = maps.detach().clone().requires_grad_(True)
        fragments.append(root.tanh())

    # leak ends
    return training_step(lab, look)


def fixed(lab):
    saliencies = deque(maxlen=24)

    def look(maps):
        root = maps.detach().requires_grad_(True)
        (gradient,) = torch.autograd.grad(root.tanh().sum(), root)
        saliencies.append(gradient.norm().item())

    return training_step(lab, look)


def training_step(lab, look):
    def step(images, labels):
        lab.optimizer.zero_grad(set_to_none=True)
        maps = lab.model.features(images)
        loss = lab.criterion(lab.model.head(maps.mean(dim=(2, 3))), labels)
        loss.backward()
        lab.optimizer.step()
        look(maps)
        return loss.detach()

    return step


def keeps(lab):
    # The result is kept by the list, the root by the node that would collect its gradient.
    return 2 * map_bytes(lab.width, lab.batch, stage=4)


if __name__ == "__main__":
    main(leaky, fixed, keeps)
