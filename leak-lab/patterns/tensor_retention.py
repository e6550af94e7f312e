"""Device tensors kept by bookkeeping.

A running loss without `.item()`, scaled up: the loop notes what it saw of every batch, for a list of the worst ones at the end of
the epoch. Each note looks like a number or two. It is a picture of the batch, on the device.

Keeps with every step: images, logits and one loss for each (tiny: 385 KiB, article: 1.5 MiB), and the losses' sum keeps
a node of each step's graph.
"""

import heapq

from leaklab.resnet import CLASSES, FLOAT, image_bytes
from leaklab.training import main
import torch


def leaky(lab):
    seen = []
    running = {"loss": torch.zeros((), device=lab.device)}

    # leak begins
    def step(images, labels):
        lab.optimizer.zero_grad(set_to_none=True)
        logits = lab.model(images)
        losses = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
        loss = losses.mean()
        loss.backward()
        lab.optimizer.step()
        running["loss"] += loss
        seen.append((images, logits.detach().clone(), losses.detach().clone()))
        return loss.detach()

    # leak ends
    return step


def fixed(lab):
    worst = []
    running = {"loss": 0.0, "step": 0}

    def step(images, labels):
        lab.optimizer.zero_grad(set_to_none=True)
        losses = torch.nn.functional.cross_entropy(lab.model(images), labels, reduction="none")
        loss = losses.mean()
        loss.backward()
        lab.optimizer.step()
        running["loss"] += loss.item()
        running["step"] += 1
        # The eight worst batches: a number each, and where to find the images again.
        heapq.heappush(worst, (losses.max().item(), running["step"]))
        if len(worst) > 8:
            heapq.heappop(worst)
        return loss.detach()

    return step


def keeps(lab):
    return image_bytes(lab.batch) + lab.batch * (CLASSES + 1) * FLOAT


if __name__ == "__main__":
    main(leaky, fixed, keeps)
