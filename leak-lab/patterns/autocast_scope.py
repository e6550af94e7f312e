"""Intermediate results that leave a narrow autocast scope.

Only the stem and the first stage run in lower precision, and what they make is caught inside the scope, to compare it with full
precision later. The scope is the occasion; the list is the leak. Nothing is detached, so each entry holds its part of the graph
as well, but backward has already taken what that saved.

Keeps with every step: the first stage's output in two bytes a number (tiny: 512 KiB, article: 16 MiB), and on the way there a
graph without its contents.
"""

from collections import deque

from leaklab import devices
from leaklab.resnet import map_bytes
from leaklab.training import main


def leaky(lab):
    intermediates = []

    # leak begins
    def early_stages(images):
        with devices.autocast(lab.device):
            maps = lab.model.layer1(lab.model.stem(images))
            intermediates.append(maps.clone())
            return maps

    # leak ends
    return training_step(lab, early_stages)


def fixed(lab):
    precision = deque(maxlen=24)

    def early_stages(images):
        with devices.autocast(lab.device):
            maps = lab.model.layer1(lab.model.stem(images))
        precision.append(float(maps.detach().float().std()))
        return maps

    return training_step(lab, early_stages)


def training_step(lab, early_stages):
    def step(images, labels):
        lab.optimizer.zero_grad(set_to_none=True)
        maps = lab.model.layer2(early_stages(images).float())
        logits = lab.model.head(lab.model.layer4(lab.model.layer3(maps)).mean(dim=(2, 3)))
        loss = lab.criterion(logits, labels)
        loss.backward()
        lab.optimizer.step()
        return loss.detach()

    return step


def keeps(lab):
    return map_bytes(lab.width, lab.batch, stage=1) // 2


if __name__ == "__main__":
    main(leaky, fixed, keeps)
